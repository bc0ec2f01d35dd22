#!/usr/bin/env python3
"""Says what share of 2 to 64 threads a step would use, and how far that is from what two threads here take.

    tests/bench/scaling.py BUILD_FOLDER [--rounds N] [--only TEXT] [--before WORDS] [--results FILE]

A round predicts a case with `scaling` and times it on one thread and on two with `bench`; the least of all rounds counts.
A share is the time on one thread over that of all threads together. "two, measured" is that of this machine.
"""
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import sizes  # noqa: E402

CASES = [
    "transformer L4 H4 d128 T64 B12",
    "transformer L6 H6 d384 T256 B8",
    "transformer_xl L4 H4 d256 T128 M128 B16",
    "music T1024 B2",
    "aft full T1024 B2",
    "local_rnn s7 gru T1024 B2",
    "writing music, max_seq 128, after 200",
]
THREADS = [2, 4, 8, 16, 32, 64]


def predicted(options, case, precision):
    """Milliseconds on each number of threads, by the threads."""
    lines, *_ = sizes.lines_of(options, options.build / "tests/bench/scaling", "--only", case, "--precision", precision)
    numbers = re.findall(r"[\d.]+", lines[1][0].removeprefix(case).replace("%", ""))
    return dict(zip(THREADS, map(float, numbers[2::2]))) | {1: float(numbers[0])}


def measured(options, case, precision, threads):
    lines, *_ = sizes.lines_of(options, options.build / "tests/bench/bench", "--only", case, "--precision", precision,
                               "--threads", threads, "--runs", 5, "--json")
    return min(json.loads("".join(line for line, _ in lines))["cases"][0]["milliseconds"])


def row(options, case, precision):
    rounds = [(predicted(options, case, precision), measured(options, case, precision, 1), measured(options, case, precision, 2))
              for _ in range(options.rounds)]
    least = {threads: min(each[0][threads] for each in rounds) for threads in [1, *THREADS]}
    one, two = (min(each[n] for each in rounds) for n in (1, 2))
    shares = [round(100 * least[1] / least[threads] / threads) for threads in THREADS]
    return [f"{case}, {precision}", round(one, 1), round(50 * one / two), *shares]


def main():
    options = sizes.parser_of(__doc__, None, "cases").parse_args()
    share = [{"title": title, "form": "{} %"} for title in ["two, measured", *map(str, THREADS)]]
    columns = ["case", {"title": "one thread, ms", "form": "{:.1f}"}, *share]
    sizes.print_rows(options, "scaling", columns, (row(options, case, precision) for case in CASES if options.only in case
                                                   for precision in ("float32", "bfloat16")))


if __name__ == "__main__":
    main()
