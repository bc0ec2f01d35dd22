#!/usr/bin/env python3
"""Draws two of the benchmark's curves: memory against length, and the speed of scoring.

    apt-get install python3-matplotlib
    tests/bench/plots.py BUILD_FOLDER OUT_FOLDER

The build needs -Dbenchmarks=true. Writes memory.svg and scoring.svg.
"""
import json
import re
import subprocess
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
matplotlib.rcParams["svg.hashsalt"] = "shiftgrad"  # the same picture has the same bytes
from matplotlib import pyplot


def measured(build, only):
    command = [f"{build}/tests/bench/bench", "--only", only, "--runs", "1", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["cases"]


def curve(cases, start, value):
    """Lengths and values of the cases whose name begins so; the length ends the name."""
    chosen = [case for case in cases if case["name"].startswith(start)]
    return [int(re.findall("[0-9]+", case["name"])[-1]) for case in chosen], [value(case) for case in chosen]


def draw(path, title, x_title, y_title, curves, y_base):
    figure, axes = pyplot.subplots(figsize=(7.5, 4.4), layout="constrained")
    for name, (lengths, values) in curves.items():
        axes.plot(lengths, values, marker="o", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=y_base)
    lengths = sorted({length for curve in curves.values() for length in curve[0]})
    axes.set_xticks(lengths, labels=map(str, lengths))
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(title=title, xlabel=x_title, ylabel=y_title)
    axes.grid(alpha=0.4)
    axes.legend()
    figure.savefig(path, metadata={"Date": None, "Title": title})


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, folder = sys.argv[1:]
    memory = measured(build, "memory ")
    megabytes = lambda case: case["bytes"] / 1e6
    draw(f"{folder}/memory.svg", "Memory of attention, forward and backward", "tokens", "MB beyond input and weights", {
        "composed: [B, H, T, K] tensors": curve(memory, "memory composed", megabytes),
        "kernel": curve(memory, "memory kernel", megabytes),
    }, y_base=2)
    scoring = measured(build, "scoring ")
    speed = lambda case: 1000 * case["tokens"] / case["milliseconds"][0]
    draw(f"{folder}/scoring.svg", "Speed of scoring a text", "attention length, tokens", "tokens/s", {
        "Transformer-XL with memory": curve(scoring, "scoring transformer_xl", speed),
        "transformer, one step at a time": curve(scoring, "scoring sliding", speed),
    }, y_base=10)


if __name__ == "__main__":
    main()
