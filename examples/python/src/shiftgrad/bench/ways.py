"""The ways to compute a model, and a process that measures one of them."""

import ctypes
import gc
import multiprocessing
import os
import resource
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch

from .models import megabytes, models

_LONG = 20  # seconds of a step that is not repeated: it has no need to warm up
onnx_packages = ("onnx", "onnxruntime", "onnxscript")


def has_onnx():
    return all(find_spec(name) for name in onnx_packages)


@dataclass(frozen=True)
class Way:
    """Whose attention, and who runs the model: PyTorch as it is or compiled, in floats or under autocast."""

    whose: str = "own"
    bfloat16: bool = False
    runner: str = "eager"

    def __str__(self):
        return self.runner + ", autocast" * self.bfloat16


def ways(training, options):
    every = [Way(whose, bfloat16, runner) for runner in ("eager", "compiled")[:1 + options.compile]
             for bfloat16 in (False, True) for whose in ("own", "shiftgrad")]
    every += [Way(runner="ONNX Runtime")] * (has_onnx() and not training)
    return [way for way in every if any(text.lower() in str(way).lower() for text in options.ways)]


def step_in_torch(name, layers, way, training, arguments):
    """A step of a model of PyTorch."""
    model = models[name][0](layers).train(training)
    if way.whose == "shiftgrad":
        import shiftgrad.torch as sg
        sg.accelerate(model)
    run = torch.compile(model) if way.runner == "compiled" else model

    def step():
        with torch.set_grad_enabled(training), torch.autocast("cpu", torch.bfloat16, enabled=way.bfloat16):
            y = run(**arguments)[0]
            if training:
                y.float().pow(2).mean().backward()

    return step, model.zero_grad


def step_in_onnx(name, layers, arguments, folder, threads):
    """A step of ONNX Runtime with the exported model."""
    import onnxruntime
    path = Path(folder, "model.onnx")
    with torch.no_grad():
        torch.onnx.export(models[name][0](layers).eval(), kwargs=arguments, f=path, dynamo=True, verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {key: value.numpy() for key, value in arguments.items()}
    first = session.get_outputs()[0].name
    return lambda: session.run([first], feeds), lambda: None


def _forget_peak():
    """Lets the peak of the process begin from what it holds, where the system can."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError):
        pass


def _peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def _failure(error):
    """What the report says of an error, and its first line."""
    text = f"{type(error).__name__}: {error}"
    is_of_memory = isinstance(error, MemoryError) or any(word in text.lower() for word in ("memory", "alloc"))
    return "too large" if is_of_memory else "failed", text.splitlines()[0]


def work(pipe, name, length, training, way, layers, gigabytes, threads, folder):
    """Sends "ready" once. Runs a step each time it is told to, and sends the seconds that it took, and the MB by
    which the process has grown. Where something fails, sends what the report says of it and why, and ends."""
    os.dup2(2, 1)  # transformers prints warnings
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    arguments, exports = models[name][3](length), way.runner == "ONNX Runtime"
    try:
        step, forget = (step_in_onnx(name, layers, arguments, folder, threads) if exports
                        else step_in_torch(name, layers, way, training, arguments))
        _forget_peak()
        before, limit = _peak(), int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
        pipe.send(("ready", None))
        exports = False
        while pipe.recv():
            torch.manual_seed(1)
            begin = clock()
            step()
            seconds = clock() - begin
            forget()
            pipe.send((seconds, _peak() - before))
    except Exception as error:
        what, why = _failure(error)
        pipe.send(("does not export" if exports and what == "failed" else what, why))


class Worker:
    """A process that measures one way."""

    def __init__(self, name, length, training, way, options):
        context = multiprocessing.get_context("spawn")
        self.way, self.folder = way, tempfile.TemporaryDirectory()
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(daemon=True, target=work, args=(
            theirs, name, length, training, way, options.layers, options.gigabytes, options.threads,
            self.folder.name))
        self.process.start()
        theirs.close()
        self.seconds, self.megabytes, self.failure = [], None, None

    def wait(self, deadline):
        """Waits for what the process sends next. Returns that, or None where it fails or would not end in time."""
        if self.failure is not None:
            return None
        try:
            if not self.pipe.poll(max(0, deadline - time.monotonic())):
                self.failure = "–"
                return None
            what, more = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            # The system kills what takes too much memory.
            killed = self.process.exitcode == -signal.SIGKILL
            what, more = "too large" if killed else "failed", f"the process ended with {self.process.exitcode}"
        if isinstance(what, str) and what != "ready":
            self.failure = what
            print(f"shiftgrad.bench: {self.way}: {what}: {more}", file=sys.stderr)
            return None
        return what, more

    def step(self, deadline):
        """One step, unless it has failed, or the one before was so long that it has had no need to warm up."""
        is_long = self.way.runner != "compiled" and self.seconds and self.seconds[-1] > _LONG
        if self.failure is not None or is_long:
            return
        try:
            self.pipe.send(True)
        except ConnectionError:
            pass  # which `wait` sees as well
        figures = self.wait(deadline)
        if figures is not None:
            self.seconds.append(figures[0])
            self.megabytes = figures[1] if self.megabytes is None else self.megabytes

    def close(self):
        self.process.kill()
        self.process.join()
        self.folder.cleanup()


def figures(way, seconds, more, failure):
    """The median of the steps after the first, which warms up; of the only one where that was long."""
    counted = seconds[1:] or [each for each in seconds if each > _LONG and way.runner != "compiled"]
    if not counted:
        return {"way": str(way), "failure": failure or "–"}
    return {"way": str(way), "seconds": statistics.median(counted), "megabytes": more}


def measure(name, length, training, options, deadline):
    """The figures of each way, by whose attention it has."""
    chosen = ways(training, options)
    # All processes take turns. Where their models do not fit in memory at once, one comes after the other.
    takes = megabytes(name, options.layers) / 1024 * (len(chosen) - 1) + options.gigabytes
    groups = [chosen] if takes <= memory() else [[way] for way in chosen]
    of = {"own": [], "shiftgrad": []}
    for group in groups:
        for worker in _in_turn([Worker(name, length, training, way, options) for way in group], deadline):
            of[worker.way.whose].append(figures(worker.way, worker.seconds, worker.megabytes, worker.failure))
    return of


def _in_turn(workers, deadline):
    """The workers, after a turn that warms up and one to three more, as long as these are short."""
    for worker in workers:
        worker.wait(deadline)
    for turn in range(4):
        begin = time.monotonic() if turn < 2 else begin
        for worker in workers:
            worker.step(deadline)
        if turn and time.monotonic() - begin > 10:
            break
    for worker in workers:
        worker.close()
    return workers


def memory():
    """The machine's, in GB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
