"""Times models of transformers as they are and after sg.accelerate, and measures their memory.

    python -m shiftgrad.bench [--json [FILE]] [--only TEXT] [--layers N] [--minutes N] [--threads N] [--gigabytes N]
                              [--compile]

Prints a table in Markdown, with the CPU; --json writes the figures to FILE as well. The models have the sizes of
those that people use, random parameters, and N layers, 2 unless given, so that all is done in under ten minutes;
with --layers 0 they have all of theirs. Each way to compute has a process of its own, and these take turns. Memory
is what a process grew by in its first step. What needs more than the gigabytes is "too large"; what the minutes
do not suffice for is a dash. With one thread the times are the CPU's, which other processes change little.
"""

import argparse
import json
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
from pathlib import Path

import torch

import shiftgrad.torch as sg


def parakeet(layers):
    from transformers.models.parakeet import modeling_parakeet as parakeet
    config = parakeet.ParakeetEncoderConfig(
        hidden_size=1024, num_hidden_layers=layers or 24, num_attention_heads=8, intermediate_size=4096,
        max_position_embeddings=20000)
    config._attn_implementation = "sdpa"
    return parakeet.ParakeetEncoder(config), lambda model, minutes: model(
        torch.randn(1, int(6000 * minutes), 80)).last_hidden_state


def deberta(layers):
    from transformers import DebertaV2Config, DebertaV2Model
    config = DebertaV2Config(
        vocab_size=1000, hidden_size=768, num_hidden_layers=layers or 12, num_attention_heads=12,
        intermediate_size=3072, relative_attention=True, position_buckets=256, max_relative_positions=-1,
        max_position_embeddings=512, share_att_key=True, pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm",
        position_biased_input=False, type_vocab_size=0)
    return DebertaV2Model(config), lambda model, T: model(torch.randint(1000, (1, T))).last_hidden_state


def t5(layers):
    from transformers import T5Config, T5ForConditionalGeneration
    config = T5Config(
        vocab_size=1000, d_model=768, d_kv=64, d_ff=3072, num_layers=layers or 12, num_heads=12,
        decoder_start_token_id=0)
    return T5ForConditionalGeneration(config), lambda model, T: model(
        input_ids=torch.randint(1000, (1, T)), decoder_input_ids=torch.randint(1000, (1, T // 4)),
        use_cache=False).logits


def w2v_bert(layers):
    from transformers import Wav2Vec2BertConfig, Wav2Vec2BertModel
    config = Wav2Vec2BertConfig(num_hidden_layers=layers or 24, layerdrop=0.0)
    return Wav2Vec2BertModel(config), lambda model, seconds: model(
        torch.randn(1, 50 * seconds, config.feature_projection_input_dim)).last_hidden_state


# Of each model: its maker, its lengths, and how these are called.
models = {
    "Parakeet-0.6B encoder": (parakeet, (1, 5, 20), "{} min"),
    "DeBERTa-v3-base": (deberta, (512, 1024, 2048), "{} tokens"),
    "T5-base": (t5, (512, 2048), "{} tokens"),
    "w2v-BERT 2.0": (w2v_bert, (30, 180), "{} s"),
}


def ways(with_compile):
    """Whose attention, whether under autocast, and whether compiled."""
    return [(whose, bfloat16, compiled) for compiled in (False, True)[:1 + with_compile]
            for bfloat16 in (False, True) for whose in ("own", "shiftgrad")]


def named(whose, bfloat16, compiled):
    return ", ".join(["compiled" if compiled else "eager"] + ["autocast"] * bfloat16)


def work(pipe, name, length, training, way, layers, gigabytes, threads):
    """Runs a step each time it is told to, and sends the seconds that it took, and the MB that the first one added."""
    os.dup2(2, 1)  # transformers prints warnings
    (whose, bfloat16, compiled), (make, _, _) = way, models[name]
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    model, forward = make(layers)
    model.train(training)
    if whose == "shiftgrad":
        sg.accelerate(model)
    run = torch.compile(model) if compiled else model
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
    before = peak()
    while pipe.recv():
        torch.manual_seed(1)
        begin = clock()
        try:
            with torch.set_grad_enabled(training), torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                y = forward(run, length)
                if training:
                    y.float().pow(2).mean().backward()
        except (RuntimeError, MemoryError) as error:
            pipe.send(("too large" if "memory" in str(error).lower() else "failed", str(error).splitlines()[0]))
            return
        seconds = clock() - begin
        model.zero_grad()
        pipe.send((seconds, peak() - before))


class Worker:
    """A process that measures one way."""

    def __init__(self, *arguments):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.seconds, self.megabytes, self.failure = [], None, None

    def step(self, deadline):
        """One step, unless it has failed or would not end in time."""
        if self.failure is not None:
            return
        try:
            self.pipe.send(True)
            if not self.pipe.poll(max(0, deadline - time.monotonic())):
                self.failure = "–"
                return
            seconds, more = self.pipe.recv()
        except (EOFError, ConnectionError):  # the system has ended it
            self.failure = "too large"
            return
        if isinstance(seconds, str):
            self.failure = seconds
            print(f"shiftgrad.bench: {more}", file=sys.stderr)
            return
        self.megabytes = more if self.megabytes is None else self.megabytes
        self.seconds.append(seconds)

    def close(self):
        self.process.kill()
        self.process.join()


def measure(name, length, training, options, deadline):
    """The figures of one row of the table."""
    chosen = ways(options.compile)
    workers = [Worker(name, length, training, way, options.layers, options.gigabytes, options.threads)
               for way in chosen]
    begin = None
    for turn in range(4):
        begin = time.monotonic() if turn < 2 else begin
        for worker in workers:
            worker.step(deadline)
        # The first turn warms up. One more is enough where it takes long, and none where it takes very long.
        if time.monotonic() - begin > (10 if turn else 60) or all(worker.failure for worker in workers):
            break
    for worker in workers:
        worker.close()
    row = {"model": name, "length": models[name][2].format(length), "pass": "training" if training else "inference"}
    for whose in ("own", "shiftgrad"):
        of = [(way, worker) for way, worker in zip(chosen, workers) if way[0] == whose]
        done = [(statistics.median(worker.seconds[1:] or worker.seconds), worker.megabytes, named(*way))
                for way, worker in of if worker.seconds and not (worker.failure and len(worker.seconds) < 2)]
        row[whose] = dict(zip(("seconds", "megabytes", "way"), min(done))) if done else {"failure": of[0][1].failure}
    if "seconds" in row["own"] and "seconds" in row["shiftgrad"]:
        row["ratio"] = row["own"]["seconds"] / row["shiftgrad"]["seconds"]
    return row


def cell(figures):
    if "failure" in figures:
        return figures["failure"] or "–"
    return f"{figures['seconds']:.2f} s ({figures['megabytes']:.0f} MB), {figures['way']}"


def table(report):
    """The report in Markdown."""
    lines = [
        f"On {report['cpu']}, threads: {report['threads']}, PyTorch {report['torch']}, transformers "
        f"{report['transformers']}, layers of each model: {report['layers']}. Of both, the fastest way counts.", "",
        "| model, length | pass | its own code | accelerated | own / accelerated |", "|---|---|---:|---:|---:|",
    ]
    for row in report["rows"]:
        ratio = f"{row['ratio']:.2f}" + (", a loss" if row["ratio"] < 1 else "") if "ratio" in row else "–"
        lines.append(f"| {row['model']}, {row['length']} | {row['pass']} | {cell(row['own'])} | "
                     f"{cell(row['shiftgrad'])} | {ratio} |")
    return "\n".join(lines)


def cpu():
    """The name of the CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def main():
    parser = argparse.ArgumentParser(prog="python -m shiftgrad.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--json", nargs="?", const="shiftgrad-bench.json", metavar="FILE",
                        help="write the figures to FILE as well (default: %(const)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the models whose names have this in them")
    parser.add_argument("--layers", type=int, default=2, metavar="N", help="layers of each model; 0 for all of them")
    parser.add_argument("--minutes", type=float, default=9, metavar="N", help="end after so many (default: 9)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), metavar="N")
    parser.add_argument("--gigabytes", type=float, metavar="N",
                        help="that a process may take (default: half of what there is)")
    parser.add_argument("--compile", action="store_true", help="also run both through torch.compile")
    options = parser.parse_args()
    if options.layers < 0 or options.threads < 1 or not options.minutes > 0:
        parser.error("--layers is at least 0, --threads at least 1, and --minutes above 0")
    if options.gigabytes is None:
        options.gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**31
    chosen = [name for name in models if options.only.lower() in name.lower()]
    if not chosen:
        parser.error(f"--only {options.only}: expected a part of one of {', '.join(models)}")
    try:
        import transformers
    except ImportError:
        parser.error("Python has no transformers; pip install transformers")
    deadline = time.monotonic() + 60 * options.minutes
    # The short ones of all models come first.
    order = sorted(((position, name, training) for name in chosen for position in range(len(models[name][1]))
                    for training in (False, True)), key=lambda row: (row[0], row[2], chosen.index(row[1])))
    rows = []
    for position, name, training in order:
        length = models[name][1][position]
        if time.monotonic() < deadline:
            print(f"{name}, {models[name][2].format(length)} …", file=sys.stderr)
            rows.append(measure(name, length, training, options, deadline))
    report = {
        "cpu": cpu(), "threads": options.threads, "torch": torch.__version__,
        "transformers": transformers.__version__,
        "layers": options.layers or "all",
        "rows": sorted(rows, key=lambda row: (chosen.index(row["model"]), row["pass"] == "training")),
    }
    print(table(report))
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
