#!/usr/bin/env python3
"""Fails where two files define types of one name in one namespace: a program that has both breaks the rule of one
definition, and a reader takes one for the other. Types in namespaces without a name are a file's own, and those in no
namespace a program's."""

import os
import re
import subprocess
import sys

os.chdir(os.path.dirname(os.path.realpath(__file__)) + "/../..")
FOLDERS = "core", "ops", "nn", "optim", "examples"
OPENED = re.compile(r"(?:inline )?namespace ?([\w:]*) ?{$")
DEFINED = re.compile(r"(?:struct|class|enum class|enum) (?:alignas\(\d+\) )?(\w+)(?: final)?(?: : [^;]*)?(?: {.*|,)?$")


def types(path):
    """The types that a file defines, with their namespaces. Braces of namespaces stand at the beginning of a line."""
    spaces = []
    with open(path) as file:
        for line in file:
            line = line.rstrip("\n")
            if opened := OPENED.match(line):
                spaces.append(opened[1])
            elif line.startswith("}  // namespace"):
                spaces.pop()
            elif (defined := DEFINED.match(line)) and spaces and "" not in spaces:
                yield "::".join([*spaces, defined[1]])


places = {}
files = subprocess.run(["find", *FOLDERS, "-name", "*.h", "-o", "-name", "*.cpp"], capture_output=True, text=True)
for path in sorted(files.stdout.split()):
    for name in types(path):
        places.setdefault(name, set()).add(path)
twice = {name: paths for name, paths in places.items() if len(paths) > 1}
for name, paths in sorted(twice.items()):
    print(f"{name}: {', '.join(sorted(paths))}")
print(f"{len(places)} types, {len(twice)} of them in two files")
sys.exit(bool(twice) or len(places) < 100)
