#!/usr/bin/env python3
"""Runs the known wrong shifts, and prints which vector catches each: wrong_shifts.py

x [B, H, T, n] has the scores by distance, from the farthest key on, in the layout of the vector.
"""

import json
import sys
from pathlib import Path

import numpy as np
import port
from check import read

files = Path(__file__).parent / "files"


def pad_left(x):
    return np.pad(x, [(0, 0)] * 3 + [(1, 0)])


def one_way_shift_both_ways(x):
    """Transformer-XL's shift has rows for the past alone; what it gives for the future has wrapped around."""
    T = x.shape[2]
    x = x[..., :T]
    return pad_left(x).reshape(*x.shape[:2], T + 1, T)[:, :, 1:].reshape(x.shape)


def no_shift(x):
    """Column j of the score for key j, whatever the query."""
    return x[..., :x.shape[2]]


def past_for_future(x):
    """One table of sinusoids for |δ|: a key ahead looks like one behind."""
    T = x.shape[2]
    distance = abs(np.arange(T)[:, None] - np.arange(T))
    return np.take_along_axis(x, np.broadcast_to(T - 1 - distance, (*x.shape[:3], T)), -1)


def rows_of_T(x):
    """Rows of T numbers are cut from the padded scores, which have 2T each: zeros of the padding get in."""
    T = x.shape[2]
    return pad_left(x).reshape(*x.shape[:2], 2 * T, T)[:, :, 1:T + 1]


def row_by_row(x):
    """Each row of the padded scores is rolled by itself: it wraps into its own end, and not into the next row."""
    T = x.shape[2]
    padded = np.pad(x, [(0, 0)] * 3 + [(0, 1)])
    return np.stack([np.roll(padded[:, :, i], i, -1)[..., :T] for i in range(T)], 2)


def farthest_column_kept(x):
    """XLNet's rows begin at the distance K, those of others at K - 1: each key gets its neighbour's score."""
    T = x.shape[2]
    K = x.shape[3] - T
    column = T - 1 - np.arange(T)[:, None] + np.arange(K)
    return np.take_along_axis(x, np.broadcast_to(column, (*x.shape[:3], K)), -1)


def scale_of_the_model(layer, c, p, x):
    """1/√d_model in place of 1/√d_head: the same as smaller queries."""
    smaller = 1 / np.sqrt(c["n_head"])
    p["qkv.weight"][:c["d_model"]] *= smaller
    p["content_bias"] *= smaller
    p["position_bias"] *= smaller
    return port.compute(layer, None, c, p, x, None, None)


def front_of_a_long_table(layer, c, p, x):
    """The rows of the distances from 4999 down are made once, and T of them cut off at the front, not at the end."""
    right = port.terms
    port.terms = lambda layer, c, p, delta, H, D: right(layer, c, p, delta + 5000 - x.shape[1], H, D)
    try:
        return port.compute(layer, None, c, p, x, None, None)
    finally:
        port.terms = right


# What it is, where it was reported, and the vector that catches it.
shifts = [
    (one_way_shift_both_ways,
     "espnet#2816, espnet#3068, OpenTransformer#25, sooftware/conformer#30, openspeech#176", "shift_nemo"),
    (no_shift, "wenet#1612", "shift_nemo"),
    (past_for_future, "wenet#1611, speechbrain#3070", "shift_nemo"),
    (rows_of_T, "second-state/cohere_transcribe_rs#4", "shift_nemo"),
    (row_by_row, "labml#218, an example in a comment", "shift_labml"),
    (farthest_column_kept, "no thread; XLNet's layout taken for Transformer-XL's", "shift_xlnet"),
    (scale_of_the_model, "upskyy/Squeezeformer#1, openspeech#176", "transformer_xl_both_ways"),
    (front_of_a_long_table, "espnet#2816, the first of its two", "transformer_xl_both_ways"),
]


def error(wrong, vector):
    """How far a wrong shift is from a vector, at most."""
    about, tensors = read(files / f"{vector}.safetensors")
    parameters = {name[6:]: x.copy() for name, x in tensors.items() if name.startswith("param.")}
    layer = (about["layer"], json.loads(about["config"]), parameters) if parameters else ()
    return abs(wrong(*layer, tensors["input.x"]) - tensors["output"]).max()


if __name__ == "__main__":
    missed = 0
    for wrong, where, vector in shifts:
        missed += int(error(wrong, vector) < 1e-3)
        print(f"{wrong.__name__} ({where}): {vector} is off by {error(wrong, vector):.2f}")
    sys.exit(missed > 0)
