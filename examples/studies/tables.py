#!/usr/bin/env python3
"""Fills the tables of Markdown pages from the results that commands wrote, or says which are not so.

    tables.py [--check]
    tables.py --keep RESULTS NAME TABLE.csv COMMAND

A file results.json beside a page has {"tables": {name: {"columns": […], "rows": [[…]]}}}, and of each table what is known
of its measurement. A column is a title, or {"title", "form", "text"}, where the form is Python's for the numbers of a cell,
and text stands on the left. On a page, a table stands between <!-- table FILE NAME --> and <!-- end of table -->; FILE is
the path from the page. A pattern such as results/*.json gives a row for each case of any file, and of each file the ratios
in its table NAME as a column. With OTHER behind NAME, the column of that file has all numbers of the ratio, and the file's
other columns follow. Between <!-- ratios FILE NAME CASE… --> and <!-- end of ratios --> stand the least and the greatest
ratio of the cases that begin with one of these words. From <!-- numbers of FILE --> to the end of the paragraph or the
table's row, each number of two or three digits after the point stands in the tables of FILE. The page of the claims is made
as a whole. --keep adds the table that a program wrote as CSV, such as the comparison.csv of `char_lm compare`, and says that
the command made it; what is empty there is a dash on the page.
"""

import csv
import datetime
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = re.compile(r"(<!-- table (\S+) (\S+)(?: (\S+))? -->)\n.*?<!-- end of table -->", re.DOTALL)
RATIOS = re.compile(r"(<!-- ratios (\S+) (\S+) ([^>]+) -->).*?(<!-- end of ratios -->)", re.DOTALL)
NUMBER = re.compile(r"(?<![\d.])\d+\.\d{2,3}(?![\d.]*\d)")
RATIO = "PyTorch / ours"
COMMITS, COMMIT = re.compile(r'"commit": "([^"]*)"'), re.compile(r"\b[0-9a-f]{7,40}\b")
SENTENCES = re.compile(r"<!-- numbers of (\S+) -->(.*\n(?:[^|\n].*\n)*)")


def git(*words):
    """What git says of this checkout, or nothing where it refuses or is not installed."""
    if not shutil.which("git"):
        return ""
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def measured(command):
    """The command, the commit, the CPU and the date, as far as they are known.

    The commit is main's last one in this checkout, and how many follow: those get other names when they are rebased.
    """
    found = {"command": command}
    commit = git("rev-parse", "--short", git("merge-base", "HEAD", "main") or "HEAD")
    if commit:
        more = git("rev-list", "--count", f"{commit}..HEAD")
        found["commit"] = commit if more == "0" else f"{commit} + {more}"
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


def keep(path, name, measurement):
    """Adds a table to a file of results, or replaces it there."""
    results = json.loads(Path(path).read_text()) if Path(path).exists() else {}
    write(path, {**results, "tables": results.get("tables", {}) | {name: measurement}})


def keep_row(path, name, about, columns, row):
    """Adds a row to a table in a file of results, in place of one with the same first cell."""
    tables = json.loads(Path(path).read_text())["tables"] if Path(path).exists() else {}
    old = tables.get(name, {})
    rows = old["rows"] if old.get("columns") == columns else []
    places = [n for n, other in enumerate(rows) if other[0] == row[0]] or [len(rows)]
    rows[places[0]:places[0] + 1] = [row]
    keep(path, name, {**about, "columns": columns, "rows": rows})


def three_digits(number):
    """Milliseconds as tables have them: 15.1, 383, 1607."""
    return round(number, 1) if number < 99.95 else round(number)


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


def compared(files, name, whole=None):
    """A table with a column for each CPU's file, the first number of each case's ratio; of `whole`, one of them, all."""
    columns, cells = ["case"], []
    for file in files:
        results = json.loads(file.read_text())
        measurement = results["tables"][name]
        place = [title_of(column) for column in measurement["columns"]].index(RATIO)
        ratios = {row[0]: row[place] for row in measurement["rows"]}
        form = measurement["columns"][place]["form"] if file == whole else "{:.2f}"
        columns.append({"title": results["short"], "form": form})
        cells.append(ratios if file == whole else {case: cell[0] if isinstance(cell, list) else cell
                                                   for case, cell in ratios.items()})
    cases = dict.fromkeys(case for each in sorted(cells, key=len, reverse=True) for case in each)
    if whole:
        measurement = json.loads(whole.read_text())["tables"][name]
        for n, column in enumerate(measurement["columns"]):
            if n > 0 and title_of(column) != RATIO:
                columns.append(column)
                cells.append({row[0]: row[n] for row in measurement["rows"]})
    return table({"columns": columns, "rows": [[case, *(each.get(case) for each in cells)] for case in cases]})


def extremes(measurement, words):
    """The least and the greatest ratio of the cases that begin with one of these words."""
    place = [title_of(column) for column in measurement["columns"]].index(RATIO)
    ratios = [row[place] for row in measurement["rows"] if row[0].startswith(words)]
    ratios = [ratio[0] if isinstance(ratio, list) else ratio for ratio in ratios]
    return min(ratios), max(ratios)


def filled(page):
    """The text of a page with its tables as the results give them."""
    def of_results(match):
        mark, file, name, whole = match.groups()
        if "*" in file:
            text = compared(sorted(page.parent.glob(file)), name, whole and page.parent / whole)
        else:
            text = table(json.loads((page.parent / file).read_text())["tables"][name])
        return f"{mark}\n\n{text}\n\n<!-- end of table -->"

    def of_cases(match):
        mark, file, name, words, end = match.groups()
        least, greatest = extremes(json.loads((page.parent / file).read_text())["tables"][name], tuple(words.split()))
        return f"{mark}{least:.2f} to {greatest:.2f}{end}"
    return RATIOS.sub(of_cases, TABLE.sub(of_results, page.read_text()))


def shown(file):
    """What a file of results gives to a page, or the tables of another page."""
    if file.suffix == ".md":
        return "\n".join(line for line in file.read_text().splitlines() if line.startswith("|"))
    results = json.loads(file.read_text())
    return claims_page(results) if "claims" in results else "\n".join(map(table, results["tables"].values()))


def unfounded(page):
    """The numbers of marked sentences that are not in their results."""
    for file, sentences in SENTENCES.findall(page.read_text()):
        there = set(NUMBER.findall(shown(page.parent / file)))
        yield from (f"{number} is not in {file}" for number in NUMBER.findall(sentences) if number not in there)


def claims_page(results):
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(ROOT / "examples/studies/claims"))
    import page
    return page.page(results)


def lost_commits():
    """The commits of results that are not in the history of this checkout, where all of it is there."""
    if git("rev-parse", "--is-shallow-repository") != "false":
        return
    for file in git("ls-files", "*.json").splitlines():
        text = (ROOT / file).read_text()
        for commit in set(COMMIT.findall(" ".join(COMMITS.findall(text)))):
            if subprocess.run(["git", "-C", ROOT, "merge-base", "--is-ancestor", commit, "HEAD"], capture_output=True).returncode:
                yield f"{file}: the commit {commit} is not in the history"


def pages():
    """Each page that has marks or is made as a whole, with the text that its results give."""
    folders = sorted(path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(("build", ".")))
    found = {path: filled(path) for folder in folders for path in sorted(folder.rglob("*.md"))}
    found[ROOT / "README.md"] = filled(ROOT / "README.md")
    folder = ROOT / "examples/studies/claims"
    found[folder / "README.md"] = claims_page(json.loads((folder / "results.json").read_text()))
    return found


def keep_csv(results, name, file, command):
    """Adds a table that a program wrote as CSV, such as the comparison.csv of char_lm compare."""
    with open(file, newline="") as lines:
        titles, *rows = csv.reader(lines)
    digits = [max(len(row[n].partition(".")[2]) for row in rows) for n in range(len(titles))]
    columns = [{"title": title, "form": f"{{:.{many}f}}"} if many else title for title, many in zip(titles, digits)]
    rows = [[row[0], *(None if number == "" else float(number) if many else int(number)
                       for number, many in zip(row[1:], digits[1:]))] for row in rows]
    keep(results, name, {**measured(command), "columns": [titles[0], *columns[1:]], "rows": rows})


def main():
    if sys.argv[1:2] == ["--keep"]:
        return keep_csv(*sys.argv[2:])
    check = sys.argv[1:] == ["--check"]
    offences = 0
    for path, text in pages().items():
        place = path.relative_to(ROOT)
        wrong = [f"{place}: {what}" for what in unfounded(path)]
        if path.read_text() != text:
            if check:
                wrong.append(f"{place} is not what its results give; examples/studies/tables.py fills it")
            else:
                path.write_text(text)
        for line in wrong:
            print(line)
        offences += len(wrong)
    for line in lost_commits() if check else ():
        print(line)
        offences += 1
    return offences > 0


if __name__ == "__main__":
    sys.exit(main())
