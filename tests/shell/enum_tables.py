#!/usr/bin/env python3
"""Fails where a table goes with an enum by position and nothing notices when one of them grows. Names are checked here:
they are those of the values, in order. Any other table needs a static_assert that says both."""

import os
import re
import subprocess
import sys

os.chdir(os.path.dirname(os.path.realpath(__file__)) + "/../..")
FOLDERS = "core", "ops", "nn", "optim", "examples"
ENUM = re.compile(r"enum class (\w+)(?: : [\w ]+)? ?\{([^{}]*)\}")
LISTED = re.compile(r"auto names\((\w+)\) \{\s*return std::array\{([^{}]*)\};")
ANY_NAMES = re.compile(r"auto names\((\w+)\) \{")
# table[static_cast<size_t>(value)], where the value is declared as `Enum value` in the same file.
INDEXED = re.compile(r"\b(\w+)(?:\([^()]*\))?\[static_cast<\w+>\((\w+)\)\]")

sources = {}
files = subprocess.run(["find", *FOLDERS, "-name", "*.h", "-o", "-name", "*.cpp"], capture_output=True, text=True)
for path in sorted(files.stdout.split()):
    with open(path) as file:
        sources[path] = re.sub(r"//[^\n]*", "", file.read())
values = {name: re.findall(r"(\w+)(?: = [^,]*)?(?:,|$)", re.sub(r"\s+", " ", listed).strip())
          for source in sources.values() for name, listed in ENUM.findall(source)}


def asserted(source, *words):
    """Whether one static_assert of the source has all these words."""
    return any(all(re.search(rf"\b{word}\b", said) for word in words)
               for said in re.findall(r"static_assert\((.*?)\);", source, re.S))


offences, tables = [], 0
for path, source in sources.items():
    listed = dict(LISTED.findall(source))
    for enum in ANY_NAMES.findall(source):
        tables += 1
        names = re.findall(r'"([^"]*)"', listed.get(enum, ""))
        if names != [value.rstrip("_") for value in values[enum]] and not asserted(source, enum):
            offences.append(f"{path}: the names of {enum} are not those of its values {values[enum]}")
    for table, value in INDEXED.findall(source):
        kind = re.search(rf"\b({'|'.join(values)}) {value}\b", source)
        if kind:
            tables += 1
            if not asserted(source, table, kind[1]):
                offences.append(f"{path}: {table} goes with {kind[1]} by position, expected a static_assert of both")
print(*offences, f"{tables} tables, {len(offences)} of them unchecked", sep="\n")
sys.exit(bool(offences) or tables < 10)
