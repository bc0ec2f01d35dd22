#!/usr/bin/env python3
"""Prints how many tokens a second each model writes, from what `bench --only writing --json` wrote.

    writing.py REPORT.json... [--results FILE]

The reports are of both precisions; of several rounds the better one counts. --results FILE keeps the table in a
results.json.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/studies"))
import tables  # noqa: E402

PLACES = [("float32", "200"), ("float32", "4000"), ("bfloat16", "200"), ("bfloat16", "4000")]


def speeds(reports):
    """Of each model, tokens a second by precision and by how many tokens stand before."""
    found = {}
    for report in reports:
        for case in report["cases"]:
            model, _, after = case["name"].removeprefix("writing ").rpartition(", after ")
            speed = round(1e3 * case["tokens"] / statistics.median(case["milliseconds"]))
            of_model = found.setdefault(model, {})
            place = report["precision"], after
            of_model[place] = max(speed, of_model.get(place, 0))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT")
    parser.add_argument("--results", metavar="FILE")
    options = parser.parse_args()
    found = speeds([json.loads(Path(name).read_text()) for name in options.reports])
    columns = ["model", "float32, after 200", "after 4000", "bfloat16, after 200", "after 4000"]
    table = {"columns": columns, "rows": [[model, *map(of.get, PLACES)] for model, of in found.items()]}
    print(tables.table(table))
    if options.results:
        tables.keep(options.results, "writing", {**tables.measured("bench --only writing"), **table})


if __name__ == "__main__":
    main()
