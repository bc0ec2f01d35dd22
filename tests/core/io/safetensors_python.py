#!/usr/bin/env python3
"""Exchanges files between shiftgrad and the Python package safetensors, in both directions.

    safetensors_python.py COPY_SAFETENSORS

The program reads a file and writes what is in it. Skipped where Python lacks the package or NumPy.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import safetensors
    import safetensors.numpy
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

copy_safetensors = sys.argv[1]
tests = Path(__file__).parents[2]
corpus = tests / "fuzz" / "corpus"
folder = tempfile.TemporaryDirectory()
place = Path(folder.name)
failures = 0


def expect(condition, what):
    global failures
    if not condition:
        print(f"FAILED: {what}")
        failures += 1


def copied(source):
    """The path of a copy by shiftgrad, or nothing where it refuses the file."""
    target = place / "copy"
    target.unlink(missing_ok=True)
    done = subprocess.run([copy_safetensors, source, target], stderr=subprocess.PIPE, text=True)
    expect((done.returncode == 0) == target.exists(), f"status {done.returncode} of {source}")
    return target if target.exists() else None


def content(path):
    """Tensors as dtype, shape and bytes by name, and the metadata."""
    with safetensors.safe_open(path, framework="numpy") as file:
        metadata = file.metadata() or {}
    return dict(safetensors.deserialize(path.read_bytes())), metadata


# What Python has written, shiftgrad reads, and what that writes is the same to Python.
dtypes = "bool u1 i1 i2 u2 f2 i4 u4 f4 i8 u8 f8".split()
tensors = {
    f"{dtype}{list(shape)}": numpy.random.default_rng(1).integers(0, 2, shape).astype(dtype)
    for dtype in dtypes
    for shape in [(), (1,), (3, 5), (2, 0, 4), (1, 2, 1, 2, 1, 2, 1, 2)]
}
tensors["every bit of f4 ä\n\"\\"] = numpy.arange(0, 2**32, 65537, dtype=numpy.uint32).view("f4")
by_python = place / "by_python"
safetensors.numpy.save_file(tensors, by_python, metadata={"format": "np", "ä\n": '{"a": 1}'})
expect(content(copied(by_python)) == content(by_python), "the copy of Python's file")
for name, array in safetensors.numpy.load_file(copied(by_python)).items():
    same = array.dtype == tensors[name].dtype and array.tobytes() == tensors[name].tobytes()
    expect(same and array.shape == tensors[name].shape, f"the array {name}")

# A checkpoint, and all else that shiftgrad reads, opens in Python and is the same in a copy.
old_run = tests / "support" / "data" / "old_run" / "best.safetensors"
for path in [old_run, *corpus.iterdir()]:
    expect(content(copied(path)) == content(path), f"the copy of {path.name}")

# What shiftgrad refuses, Python does too, but for a few mistakes that it lets pass.
lenient = {
    "another_field",
    "name_twice",
    "shape_of_nine_axes",
    "shape_overflows_but_empty",
    "truth_value_of_2",
}
refused_files = place / "refused"
refused_files.mkdir()
subprocess.run([sys.executable, tests / "fuzz" / "refused.py", refused_files], check=True)
expect(len(list(refused_files.iterdir())) == 45, "another number of files that are refused")
for path in refused_files.iterdir():
    expect(copied(path) is None, f"{path.name} was read")
    try:
        safetensors.deserialize(path.read_bytes())
        refused = False
    except safetensors.SafetensorError:
        refused = True
    expect(refused or path.name in lenient, f"only shiftgrad refuses {path.name}")

sys.exit(failures > 0)
