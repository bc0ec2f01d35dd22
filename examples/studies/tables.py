#!/usr/bin/env python3
"""Fills the tables of Markdown pages from the results that commands wrote, or says which are not so.

    tables.py [--check]

A file results.json beside a page has {"tables": {name: {"columns": […], "rows": [[…]]}}}, and of each what is known of
its measurement. A table of a page stands between <!-- table FILE NAME --> and <!-- end of table -->, a number in a
sentence between <!-- NAME[ROW][COLUMN] FILE --> and <!-- . -->; FILE is the path from the page. A column is a title, or
{"title", "form"}, where the form is Python's for the numbers of a cell. The page of the claims is made as a whole.
"""

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = re.compile(r"(<!-- table (\S+) (\S+) -->\n\n?)(.*?)(\n?<!-- end of table -->)", re.DOTALL)
NUMBER = re.compile(r"(<!-- (\w+)\[([^]\n]+)\]\[([^]\n]+)\] (\S+) -->)([^<\n]*)(<!-- \. -->)")


def measured(command):
    """The command, the commit of this checkout, the CPU and the date, as far as they are known."""
    found = {"command": command}
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    if commit.returncode == 0:
        found["commit"] = commit.stdout.strip()
    cpus = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)$", cpus.read_text() if cpus.exists() else "", re.MULTILINE)
    if names:
        found["cpu"] = names[0]
    found["date"] = datetime.date.today().isoformat()
    return found


def text_of(value, indent=0):
    """A value as JSON, in one line where it fits."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= 118 or not isinstance(value, (dict, list)):
        return line
    inside = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {text_of(part, indent + 2)}" for name, part in value.items()]
    else:
        parts = [text_of(part, indent + 2) for part in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{inside}" + f",\n{inside}".join(parts) + f"\n{' ' * indent}{last}"


def write(path, results):
    """Writes results as JSON, in one step."""
    new = Path(f"{path}.new")
    new.write_text(text_of(results) + "\n")
    new.replace(path)


def title_of(column):
    return column if isinstance(column, str) else column["title"]


def cell(value, column):
    """A cell as the page shows it: text as it is, numbers by the form of their column."""
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    values = value if isinstance(value, list) else [value]
    return ("{}" if isinstance(column, str) else column.get("form", "{}")).format(*values)


def is_text(column, place):
    return place == 0 if isinstance(column, str) else column.get("text", False)


def table(results):
    """A table of results in Markdown."""
    columns = results["columns"]
    ruler = "|".join("---" if is_text(column, n) else "---:" for n, column in enumerate(columns))
    rows = [[title_of(column) for column in columns]]
    rows += [[cell(value, column) for value, column in zip(row, columns, strict=True)] for row in results["rows"]]
    lines = ["|" + "|".join(f" {text} " if text else " " for text in row) + "|" for row in rows]
    return "\n".join([lines[0], f"|{ruler}|", *lines[1:]])


def filled(page):
    """The text of a page with its tables and numbers as the results give them."""
    def tables_of(name):
        return json.loads((page.parent / name).read_text())["tables"]

    def number(match):
        before, name, row, title, file, _, behind = match.groups()
        found = tables_of(file)[name]
        [place] = [n for n, column in enumerate(found["columns"]) if title_of(column) == title]
        [values] = [values for values in found["rows"] if values[0].strip("`") == row]
        return before + cell(values[place], found["columns"][place]) + behind

    text = TABLE.sub(lambda m: m[1] + table(tables_of(m[2])[m[3]]) + "\n" + m[5], page.read_text())
    return NUMBER.sub(number, text)


def pages():
    """Each page that has marks or is made as a whole, with the text that its results give."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(ROOT / "examples/studies/claims"))
    import page as claims
    folders = sorted(path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(("build", ".")))
    found = {path: filled(path) for folder in folders for path in sorted(folder.rglob("*.md"))}
    found[ROOT / "README.md"] = filled(ROOT / "README.md")
    folder = ROOT / "examples/studies/claims"
    found[folder / "README.md"] = claims.page(json.loads((folder / "results.json").read_text()))
    return found


def main():
    other = {path: text for path, text in pages().items() if path.read_text() != text}
    for path, text in other.items():
        if sys.argv[1:] == ["--check"]:
            print(f"{path.relative_to(ROOT)} is not what its results give; examples/studies/tables.py fills it")
        else:
            path.write_text(text)
    return bool(other) and sys.argv[1:] == ["--check"]


if __name__ == "__main__":
    sys.exit(main())
