#!/usr/bin/env python3
"""Times the layers beside PyTorch's own forms, forward and backward, and measures their memory.

    speed.py [--only TEXT] [--lengths 1024 4096 …] [--rounds N] [--no-compile] [--results FILE]

Floats are compared with floats, and products in bfloat16 with autocast. PyTorch runs in the form that was published,
eager, and in the fastest that we know (tests/bench/fast_forms.py), eager and compiled, with glibc told to keep large
blocks. A round times ours, then PyTorch's forms; the table has the medians of the rounds' medians, and of the rounds'
ratios, with the least and the greatest. What takes half as long again as the fastest of its precision, when it is first
called warm, is not timed again. Each case has a process of its own. Blocks of queries make a graph that grows with T, and
above 1024 only forms without them are compiled. As published, a form is timed up to 4096 tokens, and Shaw's at 1024: it
takes more than 16 GB from 4096 on. Memory is what two eager steps in a process of their own make it grow by, with glibc
as it is. In the end it prints what a call costs beyond its computation, and whether PyTorch's threads and ours get into
each other's way. --results FILE keeps the table `speed` in a results.json, from which tables.py of the studies fills the
page. With --prepare before it, a run of five rounds takes some 5 minutes on 2 cores of Zen 5.
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

import shiftgrad.torch as sg

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "studies"))
import fast_forms  # noqa: E402
import pytorch_models as models  # noqa: E402
import rounds  # noqa: E402
import tables  # noqa: E402
from pytorch_cases import BLOCK_SUMS, IN_BLOCKS, PUBLISHED, WAYS, Way  # noqa: E402

C, H = 256, 4


class TransformerXL(nn.Module):
    """A form of Transformer-XL's attention without memory, [B, T, C]."""

    def __init__(self, attention, length):
        super().__init__()
        self.attention = attention(C, H)
        frequency = 1 / 10000 ** (torch.arange(0, C, 2) / C)
        angle = torch.arange(length - 1, -1, -1)[:, None] * frequency
        self.register_buffer("sinusoids", torch.cat([angle.sin(), angle.cos()], 1))
        self.register_buffer("mask", models.causal_mask(length, length))

    def forward(self, x):
        if self.attention.batch_first:
            return self.attention(x, x[:, :0], self.sinusoids, self.mask)
        x = x.transpose(0, 1)
        return self.attention(x, x[:0], self.sinusoids, self.mask).transpose(0, 1)


# Of each layer: its title, ours, and the forms that PyTorch has.
layers = {
    "transformer_xl": (
        "Transformer-XL", lambda T: sg.layer("transformer_xl_attention", d_model=C, n_head=H),
        {PUBLISHED: lambda T: TransformerXL(models.TransformerXLAttention, T),
         IN_BLOCKS: lambda T: TransformerXL(fast_forms.TransformerXLAttention, T)}),
    "labml": (
        "labml", lambda T: sg.layer("relative_multi_head_attention", d_model=C, n_head=H, max_positions=T),
        {PUBLISHED: lambda T: models.LabmlAttention(C, H, T), IN_BLOCKS: lambda T: fast_forms.LabmlAttention(C, H, T)}),
    "music": (
        "Music Transformer", lambda T: sg.layer("relative_global_attention", d_model=C, n_head=H, max_seq=T),
        {PUBLISHED: lambda T: models.MusicAttention(C, H, T), IN_BLOCKS: lambda T: fast_forms.MusicAttention(C, H, T)}),
    "shaw": (
        "Shaw", lambda T: sg.layer("shaw_attention", d_model=C, n_head=H, max_distance=16),
        {PUBLISHED: lambda T: models.ShawAttention(C, H, T, 16), IN_BLOCKS: lambda T: fast_forms.ShawAttention(C, H, T, 16)}),
    "aft_local": (
        "AFT-local", lambda T: sg.layer("aft", d_model=C, form="local", max_len=T, window=64),
        {PUBLISHED: lambda T: models.AftTable(C, T, 64), BLOCK_SUMS: lambda T: fast_forms.AftLocal(C, T, 64)}),
}
OURS = "ours"


def step_of(model, length, way):
    run = way.prepare(model)
    x = torch.randn(max(1, 2048 // length), length, C, requires_grad=True)
    cotangent = torch.randn_like(x)

    def step():
        with way.precision():
            y = run(x)
        model.zero_grad()
        x.grad = None
        y.backward(cotangent.to(y.dtype))

    return step


def made(name, form, length):
    torch.manual_seed(1)
    _, ours, theirs = layers[name]
    return (ours if form == OURS else theirs[form])(length)


def is_timed(name, form, way, length):
    if form == PUBLISHED:
        return not way.compiled and length <= (1024 if name == "shaw" else 4096)
    return not way.compiled or length <= 1024 or form == BLOCK_SUMS


def times(pipe, name, length, options):
    """Sends the milliseconds of each round, by form and way."""
    rounds.keep_large_blocks()
    ours = {(OURS, Way(False, bfloat16)): 0 for bfloat16 in (False, True)}
    theirs = [(form, way) for form in layers[name][2] for way in WAYS if is_timed(name, form, way, length)]
    theirs = [(form, way) for form, way in theirs if not (way.compiled and options.no_compile)]
    steps = {(form, way): step_of(made(name, form, length), length, way) for form, way in (*ours, *theirs)}
    if options.prepare:
        for step in steps.values():
            rounds.warm(step)
        return pipe.send(None)
    found = {}
    kept = {}
    for group in (ours, theirs):
        more, left_out = rounds.screened({each: steps[each] for each in group}, lambda each: each[1].bfloat16,
                                         lambda each: each[0] == PUBLISHED)
        kept |= more
        found |= left_out
    found |= {each: [] for each in kept}
    for _ in range(options.rounds):
        for each, many in kept.items():
            found[each].append(statistics.median(rounds.timed(steps[each], many)))
    pipe.send(found)


def memory(pipe, name, length, form, bfloat16):
    """Sends the MB that two eager steps add to what the process has."""
    step = step_of(made(name, form, length), length, Way(False, bfloat16))
    unit = 1 if sys.platform == "darwin" else 1024
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")  # the peak from here on, not that of making the layer
    before = peak()
    step()
    step()
    pipe.send(round(peak() - before))


def in_process(work, *arguments):
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=work, args=(sender, *arguments))
    process.start()
    sender.close()
    found = receiver.recv()
    process.join()
    return found


WAY, RATIO = {"title": "its fastest way", "text": True}, {"title": "PyTorch / ours", "form": "{} ({} to {})"}
COLUMNS = ["layer, T", "ours, float32, ms", "PyTorch, float32", WAY, RATIO, "ours, bfloat16", "autocast", WAY, RATIO,
           "as published, ms", "ours, float32, MB", "bfloat16", "PyTorch, float32, MB", "autocast"]


def two_digits(ratio):
    return round(ratio, 2) if ratio < 10 else round(ratio, 1)


def row_of(name, length, options):
    """A row of the table."""
    found = in_process(times, name, length, options)
    middle = {each: statistics.median(milliseconds) for each, milliseconds in found.items()}
    row, most = [f"{layers[name][0]}, {length}"], []
    for bfloat16 in (False, True):
        ours = OURS, Way(False, bfloat16)
        theirs = [each for each in found if each[0] != OURS and each[1].bfloat16 == bfloat16]
        best = min(theirs, key=middle.get)
        ratios = [of_theirs / of_ours for of_theirs, of_ours in zip(found[best], found[ours], strict=True)]
        form, way = best
        row += [tables.three_digits(middle[ours]), tables.three_digits(middle[best]),
                f"{form}, {'compiled' if way.compiled else 'eager'}",
                [two_digits(ratio) for ratio in (statistics.median(ratios), min(ratios), max(ratios))]]
        most.append(best)
    published = [middle[each] for each in found if each[0] == PUBLISHED]
    row.append(tables.three_digits(min(published)) if published else None)
    for forms in ([OURS, OURS], [form for form, _ in most]):
        row += [in_process(memory, name, length, form, bfloat16) for form, bfloat16 in zip(forms, (False, True))]
    return row


def table(options):
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads\n", flush=True)
    kept = []
    for name in layers:
        for length in options.lengths:
            if options.only not in f"{name} T{length}":
                continue
            if options.prepare:
                in_process(times, name, length, options)
                continue
            row = row_of(name, length, options)
            lines = tables.table({"columns": COLUMNS, "rows": [row]}).splitlines()
            print("\n".join(lines[2:] if kept else lines), flush=True)
            kept.append(row)
            if options.results:
                about = tables.measured(f"examples/python/speed.py --rounds {options.rounds}")
                about |= {"threads": torch.get_num_threads(), "pytorch": torch.__version__}
                tables.keep_row(options.results, "speed", about, COLUMNS, row)


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
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096, 8192])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prepare", action="store_true", help="only compile, so that a later run takes less time")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--results", metavar="FILE", help="a results.json that keeps the table, too")
    options = parser.parse_args()
    table(options)
    if options.prepare:
        return
    border()
    pools()


if __name__ == "__main__":
    multiprocessing.set_start_method("forkserver")
    multiprocessing.set_forkserver_preload(["torch", "torch._inductor.compile_fx"])
    main()
