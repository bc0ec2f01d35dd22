#!/usr/bin/env python3
"""The time of a training step in N processes, by a formula, beside what was measured.

    tests/bench/several_processes prints one line of JSON; for lines of links of a known rate,

        cost_model.py RATE LATENCY FILE...

prints measured and predicted steps, and from the first line what N nodes would do. RATE is in bits
a second, LATENCY in seconds for a message to arrive. A ring (Patarasuk and Yuan 2009) adds up s
bytes of each of N processes in

        t(s) = 2 (N - 1) latency + 2 (N - 1) / N · 8 s / rate

and bucket n begins when its gradients are final and bucket n - 1 is there. What of this is after
the backward pass is waited for, and so is the gathering of the loss, twice ceil(log2 N) messages.
The rest of a step, which is measured, grows with the rows.
"""

import argparse
import json
import math


def ring(size, nodes, rate, latency):
    return 2 * (nodes - 1) * latency + 2 * (nodes - 1) / nodes * 8 * size / rate


def step(run, rows, nodes, rate, latency, overlapped=True):
    """(seconds of a step, of these waiting for gradients) with so many rows on each node."""
    share = rows / run["rows"]
    backward_end = run["begun"][-1] * share
    done = 0
    for begun, size in zip(run["begun"], run["bytes"]):
        start = begun * share if overlapped else backward_end
        done = max(done, start) + ring(size, nodes, rate, latency)
    waiting = max(0, done - backward_end)
    loss = 2 * math.ceil(math.log2(nodes)) * latency if nodes > 1 else 0
    return run["alone"] * share + waiting + loss, waiting


def compare(runs, rate, latency):
    titles = ("processes", "rows each", "alone, ms", "sums", "step, ms", "predicted", "waiting",
              "predicted")
    print("| " + " | ".join(titles) + " |")
    print("|---:|---:|---:|---|---:|---:|---:|---:|")
    for run in runs:
        for way in ("overlapped", "behind"):
            measured = run[way]
            seconds, waiting = step(run, run["rows"], run["processes"], rate, latency,
                                    way == "overlapped")
            print(f"| {run['processes']} | {run['rows']} | {1e3 * run['alone']:.1f} | {way} "
                  f"| {1e3 * measured['step']:.1f} | {1e3 * seconds:.1f} "
                  f"| {measured['waiting'] / measured['step']:.0%} | {waiting / seconds:.0%} |")


def efficiency(run, batch, nodes, rate, latency):
    """The share of N times one node's speed that N nodes reach with the same batch."""
    alone, _ = step(run, batch, 1, rate, latency)
    together, _ = step(run, batch / nodes, nodes, rate, latency)
    return alone / together / nodes


def least_batch(run, nodes, rate, latency):
    """The smallest batch, in rows, with which N nodes are more than half as efficient as one."""
    batch = nodes
    while efficiency(run, batch, nodes, rate, latency) < 0.5:
        batch += nodes
    return batch


def extend(run, rate, latency):
    size = sum(run["bytes"])
    print(f"\n{size / 1e6:.1f} MB of gradients, {run['tokens'] // run['rows']} tokens a row, "
          f"{rate / 1e9:g} Gbit/s, {1e6 * latency:g} us:\n")
    batches = (64, 256, 1024)
    print("| nodes | " + " | ".join(f"efficiency at {b} rows" for b in batches) +
          " | rows for one half |")
    print("|---:|" + "---:|" * (len(batches) + 1))
    for nodes in (2, 4, 8, 16, 32, 64):
        shares = " | ".join(f"{efficiency(run, b, nodes, rate, latency):.0%}" for b in batches)
        print(f"| {nodes} | {shares} | {least_batch(run, nodes, rate, latency)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rate", type=float)
    parser.add_argument("latency", type=float)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    runs = [json.loads(line) for name in arguments.files for line in open(name)]
    compare(runs, arguments.rate, arguments.latency)
    extend(runs[0], arguments.rate, arguments.latency)


main()
