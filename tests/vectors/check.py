#!/usr/bin/env python3
"""Checks a port against the vectors: check.py [FOLDER]

Any language can do the same: read a file, compute the output from input.* and param.*, and compare it; multiply it
with grad_output and sum; go back, and compare the gradients. This port has formulas alone, so its gradients are
differences along one direction.
"""

import json
import sys
from pathlib import Path

import numpy as np
from safetensors import safe_open

from port import compute


def read(path):
    """The metadata and the tensors of a vector."""
    with safe_open(path, "np") as file:
        return file.metadata(), {name: file.get_tensor(name) for name in file.keys()}


def check(path):
    """The largest error of the output, and of the gradients along a direction; None where this computes nothing."""
    about, t = read(path)
    inputs = {name: t[name] for name in t if name.startswith(("param.", "input."))}

    def run(step):
        given = {name: x + step * direction[name] if name in direction else x for name, x in inputs.items()}
        parameters = {name[6:]: x for name, x in given.items() if name.startswith("param.")}
        return compute(about["layer"], about.get("layout"), json.loads(about["config"]), parameters,
                       given["input.x"], given.get("input.memory"), given.get("input.key_padding_mask"))

    direction, random = {}, np.random.default_rng(1)
    y = run(0)
    if y is None:
        return None
    direction = {name[5:]: random.standard_normal(t[name].shape) for name in t if name.startswith("grad.")}
    slope = ((run(1e-5) - run(-1e-5)) * t["grad_output"]).sum() / 2e-5
    gradient = sum((t["grad." + name] * each).sum() for name, each in direction.items())
    return abs(y - t["output"]).max(), abs(slope - gradient) / max(1, abs(gradient))


if __name__ == "__main__":
    failed = 0
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "files"
    for path in sorted(folder.glob("*.safetensors")):
        errors = check(path)
        if errors is None:
            print(f"{path.stem}: not computed here")
        elif not (errors[0] <= 1e-12 and errors[1] <= 1e-7):
            failed += 1
            print(f"{path.stem}: wrong, the output by {errors[0]:.1e}, the gradients by {errors[1]:.1e}")
    print(f"{failed} wrong")
    sys.exit(failed > 0)
