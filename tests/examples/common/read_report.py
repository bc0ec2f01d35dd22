#!/usr/bin/env python3
"""Reads a report as a browser does, and checks what is in it.

    read_report.py REPORT.html [runs=NAME,…] [nothing=COUNT] [attention=COUNT] [loss] [sample] [distances] [context]

A report asks for nothing else: no address stands in it but data. `nothing` counts the parts that say why they
cannot be shown, `attention` the texts of the first run; the other words are parts that the first run has.
"""
import json
import os
import re
import sys
from html.parser import HTMLParser

KEYS = {"loss", "sample", "distances", "context"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts, self.styles, self.tags, self.inside = [], [], [], None

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert name not in ("src", "srcset"), f"{tag} loads {value}"
            assert name != "href" or value.startswith(("data:", "#")), f"{tag} leads to {value}"
        if tag in ("script", "style"):
            self.inside = (self.scripts if tag == "script" else self.styles)
            self.inside.append((dict(attributes).get("type"), ""))

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside = None

    def handle_data(self, data):
        if self.inside is not None:
            kind, text = self.inside[-1]
            self.inside[-1] = (kind, text + data)


def main():
    path, *wanted = sys.argv[1:]
    assert os.path.getsize(path) < 3e6, "3 MB or more"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n"), "not a whole page"
    assert not re.search(r"url\((?!data:)|@import", "".join(style for _, style in page.styles)), "a style loads something"
    reports = [json.loads(script) for kind, script in page.scripts if kind == "application/json"]
    assert len(reports) == 1 and page.tags.count("run-report") == 1, "expected one report"
    runs = reports[0]["runs"]
    nothing = [run[key]["nothing"] for run in runs for key in run if isinstance(run[key], dict) and "nothing" in run[key]]
    first = runs[0]
    assert first["flags"] and first["tensors"] and first["loss"]["batches"]["losses"], "no flags, parameters or losses"
    for want in wanted:
        name, _, value = want.partition("=")
        if name == "runs":
            assert [run["name"] for run in runs] == value.split(","), [run["name"] for run in runs]
        elif name == "nothing":
            assert len(nothing) == int(value), nothing
        elif name == "attention":
            check_attention(first["attention"], int(value))
        else:
            assert name in KEYS and name in first and "nothing" not in first[name], f"no {name}"


def check_attention(texts, count):
    assert len(texts) == count, len(texts)
    for text in texts:
        keys = len(text["keys"])
        for weights in (map["weights"] for layer in text["layers"] for map in layer):
            assert len(weights) == keys * len(text["queries"]), len(weights)
            rows = [weights[n : n + keys] for n in range(0, len(weights), keys)]
            assert all(abs(sum(row) - 1000) <= keys for row in rows), rows


main()
