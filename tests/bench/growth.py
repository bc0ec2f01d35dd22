#!/usr/bin/env python3
"""Says how time and memory of char_lm grow with parameters, texts, windows, vocabularies and steps.

    tests/bench/growth.py BUILD_FOLDER [--folder FOLDER] [--rounds N] [--only TEXT] [--before WORDS] [--results FILE]

Each row runs a command for a small and for a large case. Seconds are those of the whole process, of several rounds the
least; the exponent is that of the growth, 1 where both grow alike. The checkpoints are those of sizes.py in its folder.
"""
import json
import math
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sizes  # noqa: E402

TINY = "--model transformer --n_layer 1 --n_head 2 --n_embd 32 --block_size 16 --batch_size 2 --eval_iters 1 --overwrite"
SMALL, MIDDLE, LARGE = "L6 H6 d384 T256 B4", "L12 H12 d768 T256 B4", "L24 H16 d1024 V50257 T1024 B1"


def long_text(options, megabytes):
    path = options.folder / f"{megabytes}MB.txt"
    if not path.exists():
        with open(path, "wb") as text:  # in pieces: what this process takes counts as its children's peak, too
            for _ in range(megabytes):
                text.write(bytes(range(32, 127)) * (1_000_000 // 95))
    return path


def trained(options, name, *flags):
    """The command of a training of two steps."""
    return ["train", *TINY.split(), *flags, "--max_iters", 2, "--out_dir", options.folder / name]


def run_of(options, steps):
    """A run with a line of metrics for each of so many steps."""
    run = options.folder / f"{steps}-steps"
    if not run.exists():
        sizes.lines_of(options, options.program, *trained(options, "whole", "--data", long_text(options, 30)))
        shutil.copytree(options.folder / "whole", run)
        with open(run / "metrics.jsonl", "w") as metrics:
            for step in range(1, steps + 1):
                line = {"step": step, "loss": 3 + 1 / step, "learning_rate": 1e-3, "gradient_norm": 1.5,
                        "tokens_per_second": 1234.5, "seconds": 0.01}
                metrics.write(json.dumps(line) + "\n")
    return run


def fresh(options, name):
    """A folder that is not there."""
    shutil.rmtree(options.folder / name, ignore_errors=True)
    return options.folder / name


def wide(options, length):
    """Two steps of the same number of tokens, in rows of this length."""
    flags = f"""--model transformer --n_layer 6 --n_head 8 --n_embd 512 --eval_iters 1 --overwrite
        --block_size {length} --batch_size {4096 // length} --max_iters 2"""
    return ["train", *flags.split(), "--data", sizes.text_of(options.folder, 96), "--out_dir", options.folder / "wide"]


def vocabulary(options, count):
    return trained(options, "many", "--vocab", "characters", "--data", sizes.text_of(options.folder, count))


def checkpoint(options, size):
    return options.folder / size.replace(" ", "-")


# What grows, the two cases, and the command. The cases are numbers or names of sizes.
ROWS = [
    ("inspect, parameters", (SMALL, MIDDLE), lambda options, size: ["inspect", checkpoint(options, size)]),
    ("inspect, parameters", (MIDDLE, LARGE), lambda options, size: ["inspect", checkpoint(options, size)]),
    ("generate one token, parameters", (SMALL, MIDDLE),
     lambda options, size: ["generate", checkpoint(options, size), "--length", 1]),
    ("generate one token, parameters", (MIDDLE, LARGE),
     lambda options, size: ["generate", checkpoint(options, size), "--length", 1]),
    ("convert to bfloat16, parameters", (MIDDLE, LARGE),
     lambda options, size: ["convert", checkpoint(options, size), "--to", "bfloat16", "--out_dir", fresh(options, "half")]),
    ("eval, bytes of text", (3_000_000, 30_000_000),
     lambda options, size: ["eval", run_of(options, 10_000), "--data", long_text(options, size // 1_000_000), "--eval_split", 1]),
    ("two steps, bytes of text", (30_000_000, 300_000_000),
     lambda options, size: trained(options, "text", "--data", long_text(options, size // 1_000_000))),
    ("two steps, characters of the vocabulary", (96, 50257), vocabulary),
    ("two steps of 4096 tokens, tokens of a row", (1024, 4096), wide),
    ("plot, lines of metrics", (10_000, 100_000),
     lambda options, steps: ["plot", run_of(options, steps), "--out", options.folder / "loss.svg"]),
    ("report, lines of metrics", (10_000, 100_000),
     lambda options, steps: ["report", run_of(options, steps), "--out", options.folder / "report.html"]),
]


def count_of(case):
    return sizes.parameters(case) if isinstance(case, str) else case


def shown(count):
    return f"{count / 1e6:.0f} million" if count > 1e6 else str(count)


def row(options, what, cases, command):
    seconds, peaks = [], []
    for case in cases:
        runs = [sizes.lines_of(options, options.program, *command(options, case)) for _ in range(options.rounds)]
        peaks.append(min(run[1] for run in runs))
        seconds.append(min(run[2] for run in runs))
    small, large = map(count_of, cases)
    exponents = [round(math.log(after / before, large / small), 2) for before, after in (seconds, peaks)]
    return [f"{what}: {shown(small)}, {shown(large)}", *(round(each, 2) for each in seconds), exponents[0],
            *(round(each, 3) for each in peaks), exponents[1]]


def main():
    options = sizes.parser_of(__doc__, "where sizes.py left its runs", "rows").parse_args()
    options.program = options.build / "examples/apps/char_lm/char_lm"
    columns = ["what grows", "small, s", "large, s", {"title": "exponent", "form": "{:.2f}"}, "small, GB", "large, GB",
               {"title": "exponent", "form": "{:.2f}"}]
    sizes.print_rows(options, "growth", columns, (row(options, *each) for each in ROWS if options.only in each[0]))


if __name__ == "__main__":
    main()
