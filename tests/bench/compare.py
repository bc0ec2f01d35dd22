#!/usr/bin/env python3
"""Times shiftgrad and PyTorch in turn, case by case, and prints the ratios with their spread.

    tests/bench/compare.py BUILD_FOLDER [--only TEXT] [--rounds N]

The build needs -Dbenchmarks=true, this script PyTorch: pip install torch==2.13.0. A round times ours,
then each form in PyTorch, on as many threads; its ratio is that of the medians, and what is printed is
the median of the rounds' ratios, with the least and the greatest. Each case has a process of its own:
what others left in the heap changes what PyTorch's large tensors cost.
"""
import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import time

import torch

import pytorch_cases


def ours(program, case, runs):
    time.sleep(1)  # PyTorch's threads spin for a while before they sleep.
    command = [program, "--only", case, "--runs", str(runs), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def median(times):
    return times[len(times) // 2]


def compare(case, options):
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    program = f"{options.build}/tests/bench/bench"
    long = "L6" in case or "d256 T256" in case or "encoder_decoder" in case
    runs = 3 if "beam" in case else 7 if long else 15
    mine, share, steps = [], [], {}
    for form, make in pytorch_cases.cases()[case].items():
        if form != "compiled" or not options.no_compile:
            steps[form] = make()
    theirs = {form: [] for form in steps}
    for _ in range(options.rounds):
        [result] = [r for r in ours(program, case, runs)["cases"] if r["name"] == case]
        mine.append(median(result["milliseconds"]))
        share.append(result["share_of_peak"])
        for form, step in steps.items():
            theirs[form].append(median(pytorch_cases.timed(step, runs)))
    for form in steps:
        ratios = [t / m for t, m in zip(theirs[form], mine)]
        print(
            f"| {case}, {form} | {statistics.median(mine):.2f} "
            f"| {statistics.median(theirs[form]):.2f} | {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f}) | {100 * statistics.median(share):.0f} % |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build", help="build folder")
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    options = parser.parse_args()
    print("| case | ours, ms | PyTorch, ms | PyTorch / ours | share of the sgemm peak |")
    print("|---|---:|---:|---:|---:|", flush=True)
    for case in pytorch_cases.cases():
        if options.only in case:
            process = multiprocessing.Process(target=compare, args=(case, options))
            process.start()
            process.join()
            if process.exitcode != 0:
                sys.exit(1)


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main()
