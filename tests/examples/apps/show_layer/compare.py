#!/usr/bin/env python3
"""Compares the text of show_layer with the tables of study's worked_example, number by number.

    tests/examples/apps/show_layer/compare.py SHOW_LAYER STUDY
"""
import json
import subprocess
import sys


def output(*command, given=None):
    return subprocess.run(command, input=given, check=True, capture_output=True, text=True).stdout


def tables_of(text):
    """The tables of a text: names and the rows of numbers, without the parentheses of hidden ones."""
    tables = []
    for block in text.split("\n\n")[1:]:
        title, labels, *lines = block.rstrip("\n").split("\n")
        columns = len(labels.split())
        rows = [[float(word.strip("()")) for word in line.split()[-columns:]] for line in lines]
        hidden = [[word.startswith("(") for word in line.split()[-columns:]] for line in lines]
        tables.append((title.split("  [")[0], title.split("]  ")[1], rows, hidden))
    return tables


def compare(layer, written, answer):
    numbers = 0
    tables = tables_of(written)
    assert written.split("\n")[1] == answer["formula"], layer
    assert [table[0] for table in tables] == [table["name"] for table in answer["tables"]], layer
    visible = next((table["values"] for table in answer["tables"] if table["name"] == "visible"), None)
    for (name, meaning, rows, hidden), table in zip(tables, answer["tables"]):
        values = [value for row in rows for value in row]
        assert meaning == table["meaning"], (layer, name)
        assert len(rows) == len(table["rows"]) and len(values) == len(table["values"]), (layer, name)
        for shown, value in zip(values, table["values"]):
            assert abs(shown - value) <= 0.0005001, (layer, name, shown, value)
        marks = [mark for row in hidden for mark in row]
        expected = [not seen for seen in visible] if table["has_hidden"] else [False] * len(marks)
        assert marks == expected, (layer, name, "marks what is hidden")
        numbers += len(values)
    return numbers


def main():
    show_layer, study = sys.argv[1:]
    help_text = output(show_layer, "--help")
    layers = help_text.split("forms of them:")[1].split("After")[0].split()
    assert len(layers) > 10, help_text
    compared = 0
    for layer in layers:
        for T, M in ((3, 2), (2, 0)):
            request = json.dumps({"do": "worked_example", "layer": layer, "T": T, "M": M})
            answer = json.loads(output(study, given=request + "\n"))
            compared += compare(layer, output(show_layer, layer, str(T), str(M)), answer)
    print(f"{compared} numbers of {len(layers)} layers are the same in the terminal and for a page")


main()
