#!/usr/bin/env python3
"""Reads a report as a browser does, and checks what is drawn in it.

    read_report.py REPORT.html [runs=NAME,…] [nothing=COUNT] [attention=COUNT] [metrics=FILE] [evaluations=FILE]
        [differ=FLAG,…] [shortest=STEP:RUN] [scored=FILE] [follows] [training] [sample] [distances] [context]

A report asks for nothing else: no address stands in it but data. `nothing` counts the parts that say why they
cannot be shown, `attention` the texts of the first run; `metrics` has the losses that its curves must have, if
there are at most 1,000, and its summary the time, the median speed and the best step of these; `evaluations` has
what was observed after evaluations, which all of its steps show; `differ` are the
flags that differ from their defaults, or between the runs; `shortest` is the step where the shortest of runs of
unequal length ends, and the best run at that step; `scored` has what `char_lm context --json` found, with which the
context's chart has to agree; `follows` says that the page is read anew while a training goes on, which no page does
without this word; the other words are parts that the first run has.
"""
import json
import os
import re
import sys
from html.parser import HTMLParser

KEYS = {"training", "sample", "distances", "context"}


class Page(HTMLParser):
    """The elements of a page: (tag, attributes, pieces of the text within)."""

    def __init__(self):
        super().__init__()
        self.elements, self.open = [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name not in ("src", "srcset"), f"{tag} loads {value}"
            assert name != "href" or value.startswith(("data:", "#")), f"{tag} leads to {value}"
        element = tag, dict(attributes), []
        self.elements.append(element)
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), []))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> ends {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        for _, _, pieces in self.open:
            pieces.append(data)

    def all(self, tag, **wanted):
        return [(attributes, "".join(pieces)) for name, attributes, pieces in self.elements
                if name == tag and all(attributes.get(key) == value for key, value in wanted.items())]


def html_of(text, title):
    found = re.search(f'<section aria-labelledby="{title}">(.*?)</section>', text, re.S)
    assert found, f"no section {title}"
    return found.group(1)


def section(text, title):
    page = Page()
    page.feed(html_of(text, title))
    return page


def curves(page, name):
    """The numbers of each curve of that name, in any chart."""
    charts = [json.loads(text) for _, text in page.all("metadata")]
    return [curve for chart in charts for curve in chart.get("curves", []) if curve.get("name") == name]


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
    heading, = (title for _, title in page.all("h1"))
    runs = heading.removeprefix("Report of ").split(", ")
    compared = [name for _, name in section(text, "summary").all("th", scope="row")]
    assert compared == (runs if len(runs) > 1 else []), compared
    assert len(section(text, "flags").all("td")) > 0, "no flags"
    assert len(section(text, "parameters").all("td")) > 0, "no parameters"
    assert len(page.all("follow-training")) == ("follows" in wanted), "a page that goes on, or does not"
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
            check_losses(section(text, "training"), value)
            check_summary(section(text, "summary"), value)
        elif name == "evaluations":
            check_evaluations(text, value)
        elif name == "differ":
            flags = [flag for _, flag in section(text.split("<details>")[0] + "</section>", "flags").all("th", scope="row")]
            assert flags == value.split(","), flags
        elif name == "scored":
            check_context(section(text, "context"), value, runs[0])
        elif name == "follows":
            continue
        elif name == "shortest":
            check_shortest(text, *value.split(":"))
        else:
            assert name in KEYS and has_part(text, name, runs[0]), f"no {name}"


def has_part(text, name, run):
    if name == "sample":
        return bool(section(text, "samples").all("pre", **{"aria-label": f"sample of {run}"}))
    page = section(text, name)
    if name == "distances":
        return any(label.startswith(f"{run}, layer") for _, label in page.all("div", **{"class": "title"}))
    return any(curve["xs"] for shown in (run, "validation", "each batch") for curve in curves(page, shown))


def lines_of(metrics):
    with open(metrics, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def close(found, expected):
    return len(found) == len(expected) and all(abs(a - b) <= 1e-4 * abs(b) for a, b in zip(found, expected))


def check_losses(page, metrics):
    """The curves of a run have the values of its metrics and their times, to the digits that are drawn, the losses of
    both texts in one chart."""
    pale = [path for path, _ in page.all("path") if "pale" in path["class"]]
    assert len(pale) == 1 and len(page.all("drawn-figure")) == 4, pale
    lines, seconds = lines_of(metrics), 0
    for line in lines:
        seconds = line["time"] = seconds + line.get("seconds", 0)
    assert seconds < 300, "the axis of times is in seconds"
    for shown, name in ((None, "loss"), ("training", "train_loss"), ("validation", "validation_loss"),
                        ("Learning rate", "learning_rate"), ("Norm of the gradient", "gradient_norm"),
                        ("Speed", "tokens_per_second")):
        curve, = curves(page, shown)
        expected = [line for line in lines if line.get(name) is not None]
        assert curve["xs"] == [line["step"] for line in expected], (curve, expected)
        assert close(curve["ys"], [line[name] for line in expected]), (curve, expected)
        assert close(curve["times"], [line["time"] for line in expected]), (curve, expected)
    evaluations = len([line for line in lines if line.get("validation_loss") is not None])
    assert len(page.all("circle")) == 2 * evaluations, f"not a point for each of {evaluations} evaluations of two texts"
    assert {chart["data-time"] for chart, _ in page.all("svg") if "data-time" in chart} == {"seconds"}


def check_evaluations(text, metrics):
    """Each step of the slider shows what its line of the metrics has."""
    page = section(text, "evaluations")
    observed = [line for line in lines_of(metrics) if "samples" in line]
    slider, = (attributes for attributes, _ in page.all("input", type="range"))
    assert slider["data-options"] == "|".join(str(line["step"]) for line in observed), slider
    parts = [words for attributes, words in page.all("div") if "data-at" in attributes]
    assert len(parts) == len(observed) > 1, (parts, observed)
    for part, line in zip(parts, observed):
        assert f', step {line["step"]}' in part, part
        for sample in line["samples"]:
            assert all(piece in part for piece in sample[1].split("\n")), (part, sample)
    maps = [json.loads(words)["values"] for _, words in page.all("metadata")]
    assert maps == [line["attended"]["thousandths"] for line in observed], maps


def check_context(page, scored, run):
    """The chart has the means, the errors and the number of characters that the command `context` has."""
    with open(scored, encoding="utf-8") as file:
        measured = json.load(file)
    found = measured["runs"][0]
    curve, = curves(page, run)
    assert curve["xs"] == measured["lengths"] and close(curve["ys"], found["bits"]), (curve, measured)
    errors = zip(curve["errors"], found["errors"], strict=True)
    assert all(abs(a - b) <= 6e-3 * b and b > 0 for a, b in errors), (curve, found)
    check_band(page, found)
    title, = [words for _, words in page.all("div", **{"class": "title"})]
    assert title.endswith(f', over {found["characters"]} characters'), title


def check_band(page, found):
    """The band begins at the end of the first error, above the curve. The plane is 1000 high."""
    low, high = next(json.loads(text)["y"] for _, text in page.all("metadata"))
    band, = [path["d"] for path, _ in page.all("path") if "band" in path["class"]]
    begin = high - float(band.split()[1]) / 1000 * (high - low)
    assert close([begin], [found["bits"][0] + found["errors"][0]]), (band, found)


def check_summary(page, metrics):
    """The facts about one run are those of its metrics."""
    facts = dict(zip((name for _, name in page.all("dt")), (value for _, value in page.all("dd"))))
    lines = lines_of(metrics)
    speeds = sorted(line["tokens_per_second"] for line in lines if "tokens_per_second" in line)
    assert abs(float(facts["speed"].split()[0]) - speeds[len(speeds) // 2]) <= 1, facts
    minutes, seconds = facts["training"].split()[0].split(":")
    expected = sum(line.get("seconds", 0) for line in lines)
    assert abs(60 * int(minutes) + int(seconds) - expected) <= 1, (facts, expected)
    evaluations = [line for line in lines if line.get("validation_loss") is not None]
    best = min(evaluations, key=lambda line: line["validation_loss"])["step"]
    assert facts["best step"].split()[:3] == [str(best), "of", f'{lines[-1]["step"]};'], facts
    assert re.match(r"\d\.\d{3} bits per character, which are \d\.\d{4} nats per character, for ", facts["score"]), facts
    assert facts["parameters"].split()[0].isdigit(), facts


def check_shortest(text, step, best):
    """Runs of unequal length are compared where the shortest ends, and a mark stands there."""
    summary = section(text, "summary")
    sentence = f"The runs have unequal lengths. At step {step}, where the shortest ends, {best} has the lowest"
    assert any(words.startswith(sentence) for _, words in summary.all("p")), summary.all("p")
    assert ("", f"loss at step {step}") in [("", name) for _, name in summary.all("th")], summary.all("th")
    training = section(text, "training")
    losses = {name: loss_at(curves(training, name)[0], int(step)) for _, name in summary.all("th", scope="row")}
    assert min(losses, key=losses.get) == best, losses
    assert f"step {step}: the shortest run ends" in [words for _, words in training.all("text")], "no mark"


def loss_at(curve, step):
    return [y for x, y in zip(curve["xs"], curve["ys"]) if x is not None and x <= step][-1]


def check_attention(text, count):
    """Each map's rows sum to 1, each of its cells is drawn as strong as the root of its weight, and a small map shows it
    again. A language model's later keys are hidden."""
    page = section(text, "attention")
    examples = {attributes["data-example"] for attributes, _ in page.all("div") if "data-example" in attributes}
    assert len(examples) == count, examples
    html = html_of(text, "attention")
    found = re.findall(r"<metadata>(.*?)</metadata>(.*?)</svg>", html, re.S)
    drawings = [(metadata, drawing) for metadata, drawing in found if '"columns"' in metadata]
    assert drawings, "no map"
    hides = 'id="samples"' in text  # seq2seq's sources have no later keys
    ids = re.findall(r'<g class="cells" id="([^"]*)"', html)
    assert len(set(ids)) == len(ids) == len(drawings), ids
    shown_again = re.findall(r'<use href="#([^"]*)"', html)
    assert shown_again == [name for name in ids if len(ids) > 1], shown_again
    for metadata, drawing in drawings:
        shown = json.loads(metadata.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        values, columns = shown["values"], shown["columns"]
        assert columns == len(shown["column_names"]) and len(values) == columns * len(shown["row_names"]), shown
        rows = [values[n : n + columns] for n in range(0, len(values), columns)]
        assert all(abs(sum(value or 0 for value in row) - 1000) <= columns for row in rows), rows
        assert not hides or all((value is None) == (n % columns > n // columns) for n, value in enumerate(values)), rows
        strengths = [0.0] * len(values)
        for share, path in re.findall(r'data-share="([0-9.]+)" d="([^"]*)"', drawing):
            for column, row, length in re.findall(r"M(\d+) (\d+)h(\d+)", path):
                begin = int(row) * columns + int(column)
                strengths[begin : begin + int(length)] = [float(share)] * int(length)
        assert all(abs(s - ((value or 0) / 1000) ** 0.5) < 0.04 for s, value in zip(strengths, values)), (strengths, values)


main()
