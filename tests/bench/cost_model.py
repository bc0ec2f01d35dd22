#!/usr/bin/env python3
"""The time of a training step in N processes, by a formula, beside what was measured.

    cost_model.py FILE... [--results FILE]

prints, of lines that tests/bench/several_processes wrote, measured and predicted steps, and from the
first line what up to 64 nodes would do on two networks. N processes add up s bytes of each in

    t(s) = 2 latency + 2 (N - 1) messages(s) overhead + 2 (N - 1) / N . 8 s / rate

(the bandwidth as in Patarasuk and Yuan 2009, the overhead of a message as in Culler et al. 1993,
"LogP"). Bucket n begins when its gradients are final and bucket n - 1 is there. What of this is
after the backward pass is waited for, and so is the loss, which is gathered twice in ceil(log2 N)
messages. The rest of a step, which is measured, grows with the rows. --results FILE
keeps the first table in a results.json.
"""

import argparse
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/studies"))
import tables  # noqa: E402

LONGEST_MESSAGE = 32768


@dataclass
class Link:
    rate: float  # bits a second, each way
    latency: float  # seconds for a message to arrive
    overhead: float = 2e-6  # seconds of a processor for each message

    @staticmethod
    def measured(run):
        """From sums of one number and of many that run alone."""
        nodes, (small, large) = run["processes"], run["sums"]
        rate = 8 * 2 * (nodes - 1) / nodes * large["bytes"] / (large["seconds"] - small["seconds"])
        return Link(rate, small["seconds"] / 2, 0)

    def sum(self, size, nodes):
        messages = math.ceil(size / nodes / LONGEST_MESSAGE)
        return (2 * self.latency + 2 * (nodes - 1) * messages * self.overhead +
                2 * (nodes - 1) / nodes * 8 * size / self.rate)


def step(run, rows, nodes, link, overlapped=True):
    """(seconds of a step, of these waiting for gradients) with that many rows on each node."""
    share = rows / run["rows"]
    backward_end = run["begun"][-1] * share
    done = 0
    for begun, size in zip(run["begun"], run["bytes"]):
        start = begun * share if overlapped else backward_end
        done = max(done, start) + link.sum(size, nodes)
    waiting = max(0, done - backward_end)
    loss = 2 * math.ceil(math.log2(nodes)) * link.latency if nodes > 1 else 0
    return run["alone"] * share + waiting + loss, waiting


def compare(runs):
    """The table of the page: of each run both ways, with what the formula says in brackets."""
    ways = [{"title": "{}, ms", "form": "{:.1f} ({:.1f})"}, {"title": "waiting", "form": "{:.0f} % ({:.0f} %)"}]
    columns = [{"title": "gradients, MB", "text": False}, "link, Mbit/s", "alone, ms"]
    columns += [column | {"title": column["title"].format(way)} for way in ("overlapped", "behind") for column in ways]
    rows = []
    for run in runs:
        link = Link.measured(run)
        row = [round(sum(run["bytes"]) / 1e6, 1), round(link.rate / 1e6), round(1e3 * run["alone"], 1)]
        for way in ("overlapped", "behind"):
            measured = run[way]
            seconds, waiting = step(run, run["rows"], run["processes"], link, way == "overlapped")
            row += [[round(1e3 * measured["step"], 1), round(1e3 * seconds, 1)],
                    [round(100 * measured["waiting"] / measured["step"]), round(100 * waiting / seconds)]]
        rows.append(row)
    return {"columns": columns, "rows": rows}


def efficiency(run, batch, nodes, link):
    """The share of N times one node's speed that N nodes reach with the same batch."""
    alone, _ = step(run, batch, 1, link)
    together, _ = step(run, batch / nodes, nodes, link)
    return alone / together / nodes


def least_batch(run, nodes, link):
    """The smallest batch, in rows, with which N nodes are more than half as efficient as one."""
    batch = nodes
    while efficiency(run, batch, nodes, link) < 0.5:
        batch += nodes
    return batch


def extend(run, link):
    print(f"\n{sum(run['bytes']) / 1e6:.1f} MB of gradients, {run['tokens'] // run['rows']} tokens "
          f"a row, {link.rate / 1e9:g} Gbit/s, {1e6 * link.latency:g} us:\n")
    batches = (64, 256, 1024)
    print("| nodes | " + " | ".join(f"efficiency at {b} rows" for b in batches) +
          " | rows for one half |")
    print("|---:|" + "---:|" * (len(batches) + 1))
    for nodes in (2, 4, 8, 16, 32, 64):
        shares = " | ".join(f"{efficiency(run, b, nodes, link):.0%}" for b in batches)
        print(f"| {nodes} | {shares} | {least_batch(run, nodes, link)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--results", metavar="FILE")
    options = parser.parse_args()
    runs = [json.loads(line) for name in options.files for line in open(name)]
    table = compare(runs)
    print(tables.table(table))
    if options.results:
        tables.keep(options.results, "several_processes", {**tables.measured("two_hosts.sh"), **table})
    for link in (Link(1e9, 50e-6), Link(25e9, 5e-6)):
        extend(runs[0], link)


main()
