#!/usr/bin/env python3
"""Times the layers beside PyTorch's own forms, forward and backward, and measures their memory.

    speed.py [--only TEXT] [--lengths 256 1024 …] [--runs N] [--no-compile] [--gigabytes N]

PyTorch runs eager and compiled, in its literal form and with scaled_dot_product_attention over a dense
bias where that can express it, in floats and under autocast to bfloat16. Each measurement has a process
of its own. Memory is what the process grew by at most; a dash stands where it is not enough. In the end
it prints what a call costs beyond its computation, and whether PyTorch's threads and ours get into each
other's way. --results FILE keeps the table `speed` in a results.json, from which tables.py of the studies fills the page:
of PyTorch the time of its fastest way, and the memory of its fastest eager way.
"""

import argparse
import functools
import math
import multiprocessing
import resource
import statistics
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import shiftgrad.torch as sg

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "studies"))
import pytorch_models as models  # noqa: E402
import tables  # noqa: E402

C, H = 256, 4
D = C // H


class DenseBias(nn.Module):
    """scaled_dot_product_attention with the scores by distance as a dense [B, H, T, T] bias."""

    def __init__(self, length, content_bias=False):
        super().__init__()
        self.qkv, self.output = nn.Linear(C, 3 * C), nn.Linear(C, C)
        self.rows = nn.Parameter(0.02 * torch.randn(H, length, D))
        self.content_bias = nn.Parameter(torch.zeros(H, 1, D)) if content_bias else 0
        self.position_bias = nn.Parameter(torch.zeros(H, 1, D)) if content_bias else 0
        self.register_buffer("mask", models.causal_mask(length, length))

    def forward(self, x):
        q, k, v = (models.split_heads(part, H) for part in self.qkv(x).chunk(3, 2))
        bias = models.skew((q + self.position_bias) @ self.rows.transpose(1, 2))
        bias = (bias / math.sqrt(D)).masked_fill(self.mask, -math.inf).to(q.dtype)
        return self.output(models.merge_heads(
            functional.scaled_dot_product_attention(q + self.content_bias, k, v, attn_mask=bias)))


class TransformerXL(nn.Module):
    """The paper's code without memory, [B, T, C]."""

    def __init__(self, length):
        super().__init__()
        self.attention = models.TransformerXLAttention(C, H)
        frequency = 1 / 10000 ** (torch.arange(0, C, 2) / C)
        angle = torch.arange(length - 1, -1, -1)[:, None] * frequency
        self.register_buffer("sinusoids", torch.cat([angle.sin(), angle.cos()], 1))
        self.register_buffer("mask", models.causal_mask(length, length))

    def forward(self, x):
        x = x.transpose(0, 1)
        return self.attention(x, x[:0], self.sinusoids, self.mask).transpose(0, 1)


# Of each layer: ours, and the forms that PyTorch has.
layers = {
    "transformer_xl": (
        lambda T: sg.layer("transformer_xl_attention", d_model=C, n_head=H),
        {"literal": TransformerXL, "SDPA": lambda T: DenseBias(T, content_bias=True)}),
    "labml": (
        lambda T: sg.layer("relative_multi_head_attention", d_model=C, n_head=H, max_positions=T),
        {"literal": lambda T: models.LabmlAttention(C, H, T), "SDPA": lambda T: DenseBias(T, content_bias=True)}),
    "music": (
        lambda T: sg.layer("relative_global_attention", d_model=C, n_head=H, max_seq=T),
        {"literal": lambda T: models.MusicAttention(C, H, T), "SDPA": DenseBias}),
    "shaw": (
        lambda T: sg.layer("shaw_attention", d_model=C, n_head=H, max_distance=16),
        {"literal": lambda T: models.ShawAttention(C, H, T, 16)}),
    "aft_local": (
        lambda T: sg.layer("aft", d_model=C, form="local", max_len=T, window=64),
        {"literal": lambda T: models.AftLocal(C, T, 64)}),
}


def measure(pipe, name, form, length, compiled, bfloat16, runs, gigabytes):
    """Sends the median time of a step in milliseconds, and the memory that steps add in MB."""
    resource.setrlimit(resource.RLIMIT_DATA, (int(gigabytes * 2**30), resource.RLIM_INFINITY))
    torch.manual_seed(1)
    ours, theirs = layers[name]
    model = (ours if form == "ours" else theirs[form])(length)
    run = torch.compile(model) if compiled else model
    x = torch.randn(max(1, 2048 // length), length, C, requires_grad=True)
    cotangent = torch.randn_like(x)

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            y = run(x)
        model.zero_grad()
        x.grad = None
        y.backward(cotangent.to(y.dtype))

    unit = 1 if sys.platform == "darwin" else 1024
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    if compiled:
        step()  # the compiler's own memory does not count
    before = peak()
    step()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    pipe.send((1e3 * statistics.median(times), peak() - before))


def measured_or_refused(pipe, *arguments):
    try:
        measure(pipe, *arguments)
    except (MemoryError, RuntimeError) as error:
        if "alloc" not in str(error):
            raise


def measured(*arguments):
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=measured_or_refused, args=(sender, *arguments))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None  # out of memory
    finally:
        process.join()


def shown(result):
    return "-" if result is None else f"{result[0]:.2f} ({result[1]:.0f})"


def table(options):
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads; ms forward + backward (MB added)\n")
    limits = (options.runs, options.gigabytes)
    ways = [(compiled, bfloat16) for bfloat16 in (False, True) for compiled in (False, True)
            if not (compiled and options.no_compile)]
    title = lambda compiled, bfloat16: ("compiled" if compiled else "eager") + (" bf16" if bfloat16 else "")
    forms = [(form, *way) for form in ("literal", "SDPA") for way in ways]
    columns = ["case", "ours", "ours bf16", *(f"{form} {title(*way)}" for form, *way in forms), "best float / ours", "best / ours bf16"]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    for name, (_, theirs) in layers.items():
        for length in options.lengths:
            case = f"{name} T{length}"
            if options.only not in case:
                continue
            ours = [measured(name, "ours", length, False, bfloat16, *limits) for bfloat16 in (False, True)]
            others = {(form, *way): measured(name, form, length, *way, *limits)
                      if form in theirs else None for form, *way in forms}
            best = lambda keys: min((others[key][0] for key in keys if others[key]), default=math.nan)
            bests = best([key for key in others if not key[2]]), best(others)
            ratios = [value / result[0] if result else math.nan for value, result in zip(bests, ours)]
            row = [case, *map(shown, ours), *map(shown, others.values()), *(f"{ratio:.2f}" for ratio in ratios)]
            print(f"| {' | '.join(row)} |", flush=True)
            if options.results:
                keep_row(options, f"{NAMES[name]}, {length}", ours, others)


NAMES = {"transformer_xl": "Transformer-XL", "labml": "labml", "music": "Music Transformer", "shaw": "Shaw",
         "aft_local": "AFT-local"}


def keep_row(options, title, ours, others):
    """Adds a case to the table of results: `ours` and `others` are (milliseconds, MB), or None without memory."""
    columns = ["layer, T", "ours, float32, ms", "bfloat16", "PyTorch, ms", {"title": "its fastest way", "text": True},
               "PyTorch / ours", "ours, float32, MB", "bfloat16", "PyTorch, MB"]
    made = {way: result for way, result in others.items() if result}
    eager = min((result for way, result in made.items() if not way[1]), default=(None, None))
    row = [title, *(result and tables.three_digits(result[0]) for result in ours), None, None, None]
    if made:
        form, compiled, bfloat16 = way = min(made, key=lambda way: made[way][0])
        ratio = made[way][0] / min(result[0] for result in ours if result)
        row[3] = tables.three_digits(made[way][0])
        row[4] = ", ".join([form, "compiled" if compiled else "eager", *(["autocast"] if bfloat16 else [])])
        row[5] = round(ratio, 1) if ratio < 10 else round(ratio)
    row += [result and round(result[1]) for result in ours] + [eager[1] and round(eager[1])]
    about = {**tables.measured(" ".join(["speed.py", *sys.argv[1:]])), "pytorch": torch.__version__}
    tables.keep_row(options.results, "speed", about, columns, row)


class Nothing(torch.autograd.Function):
    """What PyTorch itself takes to call Python, forward and backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, gradient):
        return torch.empty_like(gradient)


def microseconds(run, times=100):
    """The best of many short rounds, so that other work of the machine counts little."""
    best = math.inf
    for _ in range(100):
        begin = time.perf_counter()
        for _ in range(times):
            run()
        best = min(best, time.perf_counter() - begin)
    return 1e6 * best / times


def border():
    """What calls cost that have next to nothing to compute, and how much of it is ours."""
    x, cotangent = torch.randn(1, 1, 2, requires_grad=True), torch.randn(1, 1, 2)

    def both(layer):
        torch.autograd.backward(layer(x), cotangent)

    print("\nµs a call on 2 numbers: forward without gradients, forward, forward + backward")
    costs = {}
    for name, layer in {"sg.layer('shift_right')": sg.layer("shift_right"), "an autograd.Function of nothing": Nothing.apply,
                        "torch.tanh": torch.tanh, "nn.Linear(2, 2)": nn.Linear(2, 2)}.items():
        with torch.no_grad():
            alone = microseconds(lambda: layer(x))
        costs[name] = alone, microseconds(lambda: layer(x)), microseconds(lambda: both(layer))
        print(f"{name}: {', '.join(f'{cost:.1f}' for cost in costs[name])}")
    (_, forward, total), (_, least_forward, least_total), *_ = costs.values()
    there, back = forward - least_forward, total - forward - (least_total - least_forward)
    print(f"crossing, beyond a Function of nothing: {there:.1f} there, {back:.1f} back")


def pools():
    """A matrix product of PyTorch and a call of ours, alone and in turn."""
    a, layer = torch.randn(768, 768), sg.layer("transformer_xl_attention", d_model=C, n_head=H)
    x = torch.randn(2, 512, C)

    def timed(runs, *steps):
        times = [[] for _ in steps]
        for _ in range(runs):
            for step, kept in zip(steps, times):
                begin = time.perf_counter()
                step()
                kept.append(time.perf_counter() - begin)
        return [1e3 * statistics.median(kept) for kept in times]

    with torch.no_grad():
        steps = (functools.partial(torch.mm, a, a), functools.partial(layer, x))
        timed(20, *steps)
        alone = [timed(60, step)[0] for step in steps]
        in_turn = timed(60, *steps)
    print("\nms alone and in turn: " + "; ".join(
        f"{name} {a:.2f} and {b:.2f}, ratio {b / a:.2f}"
        for name, a, b in zip(("torch.mm", "our attention"), alone, in_turn)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--lengths", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096, 8192])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--gigabytes", type=float, default=8, help="the most memory that a process may take")
    parser.add_argument("--results", metavar="FILE", help="a results.json that keeps the table, too")
    options = parser.parse_args()
    table(options)
    border()
    pools()


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main()
