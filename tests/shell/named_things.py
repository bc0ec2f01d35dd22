#!/usr/bin/env python3
"""Fails where a text or a comment of the C++ sources names a function or a type that the code does not have: `name()`,
`name` in backquotes, Type::member, and words such as RelativeAttention."""

import os
import re
import subprocess
import sys

os.chdir(os.path.dirname(os.path.realpath(__file__)) + "/../..")
FOLDERS = "core", "ops", "nn", "optim", "examples", "tests"
# What others have: libraries, models, units.
FOREIGN = set("""CoPE ColorBrewer DeBERTa DefaultCPUAllocator FoX GiB GradientTape KiB LocalRNN MiB NaN NaNs NeMo NumPy OpenAI OpenBLAS
    OpenMP PyTorch ReLU RoFormer RoPE SapphireRapids SkylakeX StreamingLLM TensorFlow ThreadSanitizer TiB TypeError VmRSS WebAssembly
    resize_ untyped_storage""".split())
PART = re.compile(r'R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<text>(?:[^"\\\n]|\\.)*)"|//(?P<comment>[^\n]*)|\'(?:[^\'\\\n]|\\.)\'',
                  re.S)
FUNCTION = re.compile(r"(?<![\w.:])(\w+(?:::\w+)*)\(\)")
NAMES = (re.compile(r"`([A-Za-z_]\w*(?:::\w+)*)`"), re.compile(r"(?<![\w.:/])((?:[A-Za-z_]\w*::)+\w+)"),
         re.compile(r"(?<![\w.:'/-])([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)\b"))


def parts(source):
    """The code of a source without texts and comments; and these, each with its line."""
    code, said, end = [], [], 0
    for part in PART.finditer(source):
        code.append(source[end:part.start()])
        end = part.end()
        if text := part["raw"] or part["text"] or part["comment"]:
            said.append((source.count("\n", 0, part.start()) + 1, text, part["comment"] is None))
    return " ".join([*code, source[end:]]), said


def sources(folder):
    files = subprocess.run(["find", folder, "-name", "*.h", "-o", "-name", "*.cpp"], capture_output=True, text=True)
    for path in sorted(files.stdout.split()):
        with open(path) as file:
            yield path, *parts(file.read())


def missing(text, known, functions):
    """The names in a text that nothing has."""
    for name in (match for pattern in NAMES for match in pattern.findall(text)):
        if not (known >= set(name.split("::")) or name.startswith("std::")):
            yield name
    for name in FUNCTION.findall(text):
        if name.split("::")[-1] not in functions:
            yield name + "()"


# A folder may name what it has itself, and what the folders before it have.
known, functions, offences, count = set(FOREIGN), set(FOREIGN), [], 0
for folder in FOLDERS:
    said = []
    for path, code, texts in sources(folder):
        known.update(re.findall(r"[A-Za-z_]\w*", code))
        functions.update(re.findall(r"([A-Za-z_]\w*) ?(?:<[^;{}()]*>)?\(", code))
        # A comment may declare an example.
        known.update(name for _, text, is_text in texts if not is_text for name in re.findall(r"\bstruct (\w+)", text))
        # A key, a command or another name that is a text by itself is known by it.
        known.update(text for _, text, is_text in texts if is_text and text.isidentifier())
        said += [(path, *text) for text in texts if not (text[2] and folder == "tests")]
    count += len(said)
    offences += [(path, line, name) for path, line, text, _ in said for name in missing(text, known, functions)]
for path, line, name in offences:
    print(f"{path}:{line}: {name} is the name of nothing")
print(f"{count} texts and comments, {len(offences)} names of nothing")
sys.exit(bool(offences) or count < 1000)
