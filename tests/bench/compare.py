#!/usr/bin/env python3
"""Times shiftgrad and PyTorch in turn, case by case, and prints the ratios with their spread.

    tests/bench/compare.py BUILD_FOLDER [--only TEXT] [--rounds N] [--results FILE --short NAME]

The build needs -Dbenchmarks=true, this script PyTorch: pip install torch==2.13.0. torch.compile needs g++. A round
times ours in both precisions, then PyTorch on as many threads: eager and compiled, in floats and under autocast to
bfloat16, in every form of the model that pytorch_cases.py has. Where a faster form is known, the one that was published
runs eager. What is printed of each way is the median of the rounds' medians in the fastest form, and of the fastest of
all over the faster of ours, the median of the rounds' ratios with the least and the greatest. The last column is the
faster way of the form as published. What takes half as long again as the fastest of its precision, when it is first
called warm, is not timed again, unless it is the fastest as published: its time is that of this call.

Shares are of the greatest peak of a case's rounds, since a core that something else takes for a moment lowers one.
Each case has a process of its own: what others left in the heap changes what PyTorch's large tensors cost. glibc is told
to keep large blocks (rounds.py). --results FILE, such as tests/bench/results/zen5.json, keeps what the machine is and
the table `pytorch`, from which tables.py of the studies fills the page; without --only, the table begins anew. With
--prepare before it, a run of five rounds takes some 15 minutes on 2 cores of Zen 5.
"""
import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch

import pytorch_cases
import rounds

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/studies"))
import tables  # noqa: E402


PRECISIONS = ["float32", "bfloat16"]
NOTE = (f"What took {rounds.SLOWER} times as long as the fastest of its precision in its first warm call has that call's "
        "time. Not timed: scaled_dot_product_attention over a dense bias, of whose time attention in blocks takes 0.3 to "
        "0.95; float32_matmul_precision medium, which takes 1.4 to 1.6 times as long as autocast; and compiled, forms as "
        "published of which a faster one is known.")


def bench(options, case, runs=1, precision="float32"):
    """What our benchmark reports, with the kernels that OpenBLAS chooses for the CPU."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")
    }
    command = [f"{options.build}/tests/bench/bench", "--only", case, "--runs", str(runs), "--json"]
    command += ["--threads", str(options.threads), "--precision", precision]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    return json.loads(done.stdout)


def median(times):
    return times[len(times) // 2]


def ways(options):
    return [way for way in pytorch_cases.WAYS if not (way.compiled and options.no_compile)]


def compare(case, options):
    rounds.keep_large_blocks()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    runs = 3 if "L6" in case or "d256" in case else 9
    forms = pytorch_cases.cases()[case]
    steps = {(way, form): make(way) for way in ways(options) for form, make in forms.items()
             if not way.compiled or form != pytorch_cases.PUBLISHED or len(forms) == 1}
    if options.prepare:
        for step in steps.values():
            rounds.warm(step)
        return
    kept, theirs = rounds.screened(steps, precision=lambda each: each[0].bfloat16,
                                   always=lambda each: each[1] == pytorch_cases.PUBLISHED)
    theirs |= {each: [] for each in kept}
    ours = {precision: [] for precision in PRECISIONS}
    gflops = {precision: [] for precision in PRECISIONS}
    peaks = {precision: [] for precision in PRECISIONS}
    for _ in range(options.rounds):
        time.sleep(0.3)  # PyTorch's threads spin for a while before they sleep.
        for precision in PRECISIONS:
            report = bench(options, case, runs, precision)
            [result] = [r for r in report["cases"] if r["name"] == case]
            ours[precision].append(median(result["milliseconds"]))
            gflops[precision].append(result["share_of_peak"] * report["peak_gflops"])
            peaks[precision].append(report["peak_gflops"])
        for each, many in kept.items():
            theirs[each].append(median(rounds.timed(steps[each], many)))
    middle = {each: statistics.median(times) for each, times in (*ours.items(), *theirs.items())}
    best, fastest = (min(names, key=middle.get) for names in (kept, ours))
    ratios = [t / m for t, m in zip(theirs[best], ours[fastest])]
    times = [middle[precision] for precision in PRECISIONS]
    times += [min(middle[each] for each in steps if each[0] == way) for way in ways(options)]
    published = min(middle[each] for each in steps if each[1] == pytorch_cases.PUBLISHED)
    best_way, best_form = best
    columns = [case, *(f"{milliseconds:.2f}" for milliseconds in times)]
    spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    columns += [f"{best_way}, {best_form} / {fastest}: {spread}"]
    columns += [f"{100 * statistics.median(gflops[each]) / max(peaks[each]):.0f} %" for each in PRECISIONS]
    print_row([*columns, f"{published:.2f}"])
    if options.results:
        in_floats = min(middle[way, form] for way, form in theirs if not way.bfloat16) / middle["float32"]
        row = [case, *map(tables.three_digits, times)]
        row += [[round(ratio, 2) for ratio in (statistics.median(ratios), min(ratios), max(ratios))]]
        row += [round(in_floats, 1)]
        shares = [round(100 * statistics.median(gflops[each]) / max(peaks[each])) for each in PRECISIONS]
        keep_row(options, [*row, None if "beam" in case else shares, tables.three_digits(published), best_form])


def keep_row(options, row):
    """Adds a case to the table of results."""
    titles = [str(way) for way in ways(options)]
    columns = ["case", *(f"ours, {each}" for each in PRECISIONS), f"PyTorch, {titles[0]}", *titles[1:]]
    columns += [{"title": "PyTorch / ours", "form": "{:.2f} ({:.2f} to {:.2f})"}, "in floats",
                {"title": "share of the peaks", "form": "{} %, {} %"}, "as published",
                {"title": "fastest form", "text": True}]
    about = tables.measured(f"tests/bench/compare.py build --rounds {options.rounds}")
    about |= {"pytorch": torch.__version__, "note": NOTE}
    tables.keep_row(options.results, "pytorch", about, columns, row)


def print_row(columns):
    print(f"| {' | '.join(columns)} |", flush=True)


def first_line(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else "unknown"


def keep_machine(options, report):
    """Writes what was measured on, beside the tables that are there."""
    caches = json.loads(subprocess.run(["lscpu", "--caches=NAME,ONE-SIZE", "--json"], stdout=subprocess.PIPE).stdout)
    packages = {name: first_line("dpkg-query", "--show", "--showformat=${Version}\n", package) for name, package in
                {"OpenBLAS": "libopenblas0-pthread", "oneTBB": "libtbb12", "Highway": "libhwy1"}.items()}
    machine = {
        "cpu": report["cpu"], "short": options.short or report["cpu"], "threads": report["threads"],
        "caches": {cache["name"]: cache["one-size"] for cache in caches["caches"]},
        "compiler": first_line("c++", "--version"), **packages, "PyTorch": torch.__version__,
        "peaks_gflops": {peak["name"]: round(peak["all_threads_gflops"]) for peak in report["peaks"]},
    }
    path = Path(options.results)
    kept = json.loads(path.read_text())["tables"] if path.exists() else {}
    if not options.only:
        kept.pop("pytorch", None)
    tables.write(path, machine | {"tables": kept})


def print_machine(options):
    report = bench(options, "shift: view")
    if options.results and not options.prepare:
        keep_machine(options, report)
    print(f"PyTorch {torch.__version__}; {report['cpu']}; GF/s on {report['threads']} threads:")
    for peak in report["peaks"]:
        print(f"{peak['name']} {peak['all_threads_gflops']:.0f}")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build", help="build folder")
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prepare", action="store_true", help="only compile, so that a later run takes less time")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--results", metavar="FILE", help="keeps the machine and the table in a file of JSON, too")
    parser.add_argument("--short", metavar="NAME", help="what tables call the CPU, such as Zen 5")
    options = parser.parse_args()
    print_machine(options)
    times = [f"{precision}, ms" for precision in PRECISIONS]
    times += [f"PyTorch {way}, ms" for way in ways(options)]
    shares = [f"share of the peak, {precision}" for precision in PRECISIONS]
    print_row(["case", *times, "PyTorch at its best / ours at its best", *shares, "PyTorch as published, ms"])
    print_row(["---", *("---:" for _ in times), "---", *("---:" for _ in shares), "---:"])
    for case in pytorch_cases.cases():
        if options.only in case:
            process = multiprocessing.Process(target=compare, args=(case, options))
            process.start()
            process.join()
            if process.exitcode != 0:
                sys.exit(1)


if __name__ == "__main__":
    multiprocessing.set_start_method("forkserver")
    multiprocessing.set_forkserver_preload(["torch", "torch._inductor.compile_fx"])
    main()
