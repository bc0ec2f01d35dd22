"""Times models of transformers as they are and after sg.accelerate, and measures their memory.

    python -m shiftgrad.bench [--json [FILE]] [--csv FILE] [--only TEXT…] [--ways TEXT…] [--layers N] [--minutes N]
                              [--threads N] [--gigabytes N] [--compile]

Prints a table in Markdown, with the CPU; --json writes the figures of each way to compute as well, and --csv the
seconds of the fastest in floats and under autocast. The models have the sizes of those that people use, random
parameters, and N layers, 2 unless given, so that all is done in under ten minutes; with --layers 0 they have all of
theirs. Each way has a process of its own, and these take turns where their models fit in memory at once. Inference
of the models as they are is also by ONNX Runtime, where Python has it. Memory is what a process grew by in its
first step. What needs more than the gigabytes is "too large"; what the minutes do not suffice for is a dash. With
one thread the times are the CPU's, which other processes change little.
"""

import argparse
import csv
import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

try:
    import torch
except ModuleNotFoundError:
    torch = None  # --help needs none
else:
    from .models import models
    from .ways import has_onnx, measure, memory, onnx_packages, ways


def fastest(ways):
    """The fastest of the ways that were done, or None."""
    return min((way for way in ways if "seconds" in way), key=lambda way: way["seconds"], default=None)


def measured(name, length, training, options, deadline):
    """One row of the table, and what it was made from."""
    figures = measure(name, length, training, options, deadline)
    row = {"model": name, "length": models[name][2].format(length), "pass": "training" if training else "inference"}
    for whose, each in figures.items():
        row[whose] = fastest(each) or each[0]
    if "seconds" in row["own"] and "seconds" in row["shiftgrad"]:
        row["ratio"] = row["own"]["seconds"] / row["shiftgrad"]["seconds"]
    return row | {"ways": figures}


def cell(figures):
    if "failure" in figures:
        return figures["failure"]
    return f"{figures['seconds']:.2f} s ({figures['megabytes']:.0f} MB), {figures['way']}"


def table(report):
    """The report in Markdown."""
    lines = [
        f"On {report['cpu']}, threads: {report['threads']}, PyTorch {report['torch']}, transformers "
        f"{report['transformers']}, ONNX Runtime {report['onnxruntime'] or 'not installed'}, layers of each model: "
        f"{report['layers']}. Of both, the fastest way counts.", "",
        "| model, length | pass | its own code | accelerated | own / accelerated |", "|---|---|---:|---:|---:|",
    ]
    for row in report["rows"]:
        ratio = f"{row['ratio']:.2f}" + (", a loss" if row["ratio"] < 1 else "") if "ratio" in row else "–"
        lines.append(f"| {row['model']}, {row['length']} | {row['pass']} | {cell(row['own'])} | "
                     f"{cell(row['shiftgrad'])} | {ratio} |")
    return "\n".join(lines)


def seconds(report):
    """A row for each case: its own code, accelerated and their ratio, in floats and then under autocast."""
    yield ["model, length, pass", *(f"{what}, {kind}" for kind in ("floats", "autocast")
                                    for what in ("its own code, s", "accelerated, s", "own / accelerated"))]
    for row in report["rows"]:
        cells = [f"{row['model']}, {row['length']}, {row['pass']}"]
        for bfloat16 in (False, True):
            own, ours = (fastest(way for way in row["ways"][whose] if way["way"].endswith("autocast") == bfloat16)
                         for whose in ("own", "shiftgrad"))
            cells += [f"{way['seconds']:.2f}" if way else "" for way in (own, ours)]
            cells.append(f"{own['seconds'] / ours['seconds']:.2f}" if own and ours else "")
        yield cells


def cpu():
    """The name of the CPU."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def title(name, length, training):
    return f"{name}, {models[name][2].format(length)}, {'training' if training else 'inference'}"


def main():
    parser = argparse.ArgumentParser(prog="python -m shiftgrad.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--json", nargs="?", const="shiftgrad-bench.json", metavar="FILE",
                        help="write the figures to FILE as well (default: %(const)s)")
    parser.add_argument("--csv", metavar="FILE", help="write the seconds in floats and under autocast to FILE as well")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT",
                        help='only the rows that have one of these in them, as in "t5-base, 512 tokens"')
    parser.add_argument("--ways", nargs="+", default=[""], metavar="TEXT",
                        help='only the ways that have one of these in their names, as in "autocast" or "eager" "onnx"')
    parser.add_argument("--layers", type=int, default=2, metavar="N", help="layers of each model; 0 for all of them")
    parser.add_argument("--minutes", type=float, default=9, metavar="N", help="end after so many (default: 9)")
    parser.add_argument("--threads", type=int, metavar="N", help="(default: PyTorch's)")
    parser.add_argument("--gigabytes", type=float, metavar="N",
                        help="that a process may take (default: half of what there is)")
    parser.add_argument("--compile", action="store_true", help="also run both through torch.compile")
    options = parser.parse_args()
    if torch is None:
        parser.error("Python has no PyTorch; pip install torch")
    if options.threads is None:
        options.threads = torch.get_num_threads()
    if options.gigabytes is None:
        options.gigabytes = memory() / 2
    if options.layers < 0 or options.threads < 1 or not options.minutes > 0:
        parser.error("--layers is at least 0, --threads at least 1, and --minutes above 0")
    if not options.gigabytes > 0:
        parser.error(f"--gigabytes {options.gigabytes}, expected more than 0")
    rows = [(name, length, training) for name in models for training in (False, True) for length in models[name][1]]
    chosen = [row for row in rows if any(text.lower() in title(*row).lower() for text in options.only)]
    if not chosen:
        parser.error(f"--only {' '.join(options.only)}: expected a part of one of "
                     f"{'; '.join(title(*row) for row in rows)}")
    if {way.whose for way in ways(True, options)} != {"own", "shiftgrad"}:
        parser.error(f"--ways {' '.join(options.ways)}: expected a part of one of eager; eager, autocast; and with "
                     "--compile of compiled; compiled, autocast")
    try:
        import transformers
    except ImportError:
        parser.error("Python has no transformers; pip install transformers")
    if not has_onnx():
        print(f"ONNX Runtime is left out; pip install {' '.join(onnx_packages)}", file=sys.stderr)
    deadline = time.monotonic() + 60 * options.minutes
    done = {}
    # The short ones of all models come first.
    for name, length, training in sorted(chosen, key=lambda row: (models[row[0]][1].index(row[1]), row[2])):
        if time.monotonic() < deadline:
            row = name, length, training
            print(f"{title(*row)} …", file=sys.stderr)
            done[row] = measured(*row, options, deadline)
    report = {
        "cpu": cpu(), "threads": options.threads, "torch": torch.__version__,
        "transformers": transformers.__version__, "onnxruntime": version("onnxruntime") if has_onnx() else None,
        "layers": options.layers or "all", "rows": [done[row] for row in rows if row in done],
    }
    print(table(report))
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            csv.writer(file).writerows(seconds(report))


if __name__ == "__main__":
    main()
