#!/usr/bin/env python3
"""Reads a report as a browser does, and checks what is drawn in it.

    read_report.py REPORT.html [runs=NAME,…] [nothing=COUNT] [attention=COUNT] [metrics=FILE] [loss] [sample] [distances] [context]

A report asks for nothing else: no address stands in it but data. `nothing` counts the parts that say why they
cannot be shown, `attention` the texts of the first run; `metrics` has the losses that its curves must have, if
there are at most 500; the other words are parts that the first run has.
"""
import json
import os
import re
import sys
from html.parser import HTMLParser

KEYS = {"loss", "sample", "distances", "context"}


class Page(HTMLParser):
    """The elements of a page: (tag, attributes, text within)."""

    def __init__(self):
        super().__init__()
        self.elements, self.open = [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name not in ("src", "srcset"), f"{tag} loads {value}"
            assert name != "href" or value.startswith(("data:", "#")), f"{tag} leads to {value}"
        element = [tag, dict(attributes), ""]
        self.elements.append(element)
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.elements.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> ends {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element[2] += data

    def all(self, tag, **wanted):
        return [(attributes, text) for name, attributes, text in self.elements
                if name == tag and all(attributes.get(key) == value for key, value in wanted.items())]


def section(text, title):
    found = re.search(f'<section aria-labelledby="{title}">(.*?)</section>', text, re.S)
    assert found, f"no section {title}"
    page = Page()
    page.feed(found.group(1))
    return page


def curves(page, name):
    """The points of each curve of that name, as (x, y)."""
    for attributes, _ in page.all("path"):
        if attributes.get("data-name") == name:
            numbers = [float(number) for number in re.findall(r"-?\d[-+.\de]*", attributes["d"])]
            yield [(x, -y) for x, y in zip(numbers[::2], numbers[1::2])]


def main():
    path, *wanted = sys.argv[1:]
    assert os.path.getsize(path) < 3e6, "3 MB or more"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open, f"{page.open[-1][0]} does not end"
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n"), "not a whole page"
    styles = "".join(style for _, style in page.all("style"))
    assert not re.search(r"url\((?!data:)|@import", styles), "a style loads something"
    runs = [name for _, name in section(text, "runs").all("th", scope="row")]
    assert runs and len(section(text, "flags").all("td")) > 0, "no runs or flags"
    assert len(section(text, "parameters").all("td")) > 0, "no parameters"
    for want in wanted:
        name, _, value = want.partition("=")
        if name == "runs":
            assert runs == value.split(","), runs
        elif name == "nothing":
            nothing = [reason for _, reason in page.all("p", **{"class": "nothing"})]
            assert len(nothing) == int(value), nothing
        elif name == "attention":
            check_attention(text, int(value))
        elif name == "metrics":
            check_losses(section(text, "loss"), runs[0], value)
        else:
            assert name in KEYS and has_part(text, name, runs[0]), f"no {name}"


def has_part(text, name, run):
    if name == "sample":
        return bool(section(text, "samples").all("pre", **{"aria-label": f"sample of {run}"}))
    page = section(text, name)
    if name == "distances":
        return any(label.startswith(f"{run}, layer") for _, label in page.all("div", **{"class": "title"}))
    return any(curves(page, run))


def check_losses(page, run, metrics):
    """The two curves of a run have the losses of its metrics, to the digits that are drawn."""
    with open(metrics, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    drawn = list(curves(page, run))
    assert len(drawn) == 2, drawn
    for points, name in zip(drawn, ("validation_loss", "loss")):
        expected = [(line["step"], line[name]) for line in lines if line.get(name) is not None]
        assert len(points) == len(expected), (points, expected)
        assert all(x == step and abs(y - loss) <= 1e-4 * abs(loss) for (x, y), (step, loss) in zip(points, expected)), points


def check_attention(text, count):
    """Each map's rows sum to 1, and each of its cells is drawn as strong as the root of its weight."""
    page = section(text, "attention")
    examples = {attributes["data-example"] for attributes, _ in page.all("div") if "data-example" in attributes}
    assert len(examples) == count, examples
    drawings = re.findall(r"<metadata>(.*?)</metadata>(.*?)</svg>", text, re.S)
    assert drawings, "no map"
    for metadata, drawing in drawings:
        shown = json.loads(metadata.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        values, columns = shown["values"], shown["columns"]
        assert columns == len(shown["column_names"]) and len(values) == columns * len(shown["row_names"]), shown
        rows = [values[n : n + columns] for n in range(0, len(values), columns)]
        assert all(abs(sum(row) - 1000) <= columns for row in rows), rows
        strengths = [0.0] * len(values)
        for share, path in re.findall(r'data-share="([0-9.]+)" d="([^"]*)"', drawing):
            for column, row, length in re.findall(r"M(\d+) (\d+)h(\d+)", path):
                begin = int(row) * columns + int(column)
                strengths[begin : begin + int(length)] = [float(share)] * int(length)
        assert all(abs(s - (value / 1000) ** 0.5) < 0.04 for s, value in zip(strengths, values)), (strengths, values)


main()
