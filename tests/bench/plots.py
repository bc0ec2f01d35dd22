#!/usr/bin/env python3
"""Draws two of the benchmark's curves: memory against length, and the speed of scoring.

    tests/bench/plots.py BUILD_FOLDER OUT_FOLDER

The build needs -Dbenchmarks=true. Writes memory.svg and scoring.svg by gnuplot.
"""
import json
import re
import subprocess
import sys

STYLE = """
set terminal svg size 720,420 font 'sans,13' background 'white'
set grid linecolor 'gray85'
set key top left
set logscale xy 2
set linetype 1 linewidth 2
set linetype 2 linewidth 2
"""


def measured(build, only):
    command = [f"{build}/tests/bench/bench", "--only", only, "--runs", "1", "--json"]
    cases = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["cases"]
    return [(case["name"], case) for case in cases]


def series(cases, start, value):
    """The lines "length value" of the cases whose name begins so; the length ends the name."""
    lines = []
    for name, case in cases:
        if name.startswith(start):
            lines.append(f"{re.findall('[0-9]+', name)[-1]} {value(case)}")
    return "\n".join(lines)


def plot(path, script, data):
    blocks = "".join(f"${name} << EOD\n{lines}\nEOD\n" for name, lines in data.items())
    subprocess.run(["gnuplot"], input=f"{STYLE}{blocks}set output '{path}'\n{script}", text=True, check=True)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, folder = sys.argv[1:]
    memory = measured(build, "memory ")
    megabytes = lambda case: case["bytes"] / 1e6
    plot(
        f"{folder}/memory.svg",
        "set xlabel 'tokens'\nset ylabel 'MB beyond input and weights'\n"
        "plot $composed with linespoints pointtype 7 title 'composed: [B, H, T, K] tensors', "
        "$kernel with linespoints pointtype 7 title 'kernel'\n",
        {
            "kernel": series(memory, "memory kernel", megabytes),
            "composed": series(memory, "memory composed", megabytes),
        },
    )
    scoring = measured(build, "scoring ")
    speed = lambda case: 1000 * case["tokens"] / case["milliseconds"][0]
    plot(
        f"{folder}/scoring.svg",
        "set xlabel 'attention length, tokens'\nset ylabel 'tokens/s'\nset key center right\nset logscale y 10\n"
        "set xtics (800, 1800, 3800)\n"
        "plot $memory with linespoints pointtype 7 title 'Transformer-XL with memory', "
        "$sliding with linespoints pointtype 7 title 'transformer, one step at a time'\n",
        {
            "memory": series(scoring, "scoring transformer_xl", speed),
            "sliding": series(scoring, "scoring sliding", speed),
        },
    )


main()
