#!/usr/bin/env python3
"""Trains examples/studies/sets/piano_rolls, the program that the first argument names, on songs that are made here."""

import json
import math
import os
import signal
import sys

sys.dont_write_bytecode = True
from cases import TESTS, Program, check, read, run

sys.path.insert(0, f"{TESTS}/../examples/studies/sets")
import rolls
import sets

piano_rolls = Program(sys.argv[1])


def write_songs(path, lengths, keys=88):
    """Songs in which each frame has the keys of the one before, one higher."""
    frames = bytes(int((key - frame) % 11 == 0) for length in lengths for frame in range(length) for key in range(keys))
    counts = b"".join(length.to_bytes(8, "little") for length in lengths)
    with open(path, "wb") as file:
        file.write(sets.safetensors({"lengths": ("I64", [len(lengths)], counts),
                                     "frames": ("U8", [sum(lengths), keys], frames)}))


def write_set(folder):
    os.mkdir(folder)
    for split, lengths in ("train", (30, 20, 25)), ("valid", (12, 2)), ("test", (9,)):
        write_songs(f"{folder}/{split}.safetensors", lengths)


def result(flags):
    """What the program finds at the end."""
    return json.loads(piano_rolls.runs(f"--data data {flags}").splitlines()[-1])


def trains_models_of_one_size():
    """Where nothing is learned, each key sounds with a chance of about 1/2."""
    write_set("data")
    sizes = []
    for model in rolls.ARMS:
        found = result(f"--out_dir {model} --model {model} --epochs 1 --learning_rate 0")
        sizes.append(found["parameters"])
        for split in "validation", "test":
            check(abs(found[split] - 88 * math.log(2)) < 3, f"{model} that learned nothing: {found}")
    check(max(sizes) < 1.001 * min(sizes), f"parameters: {sizes}")


def learns_what_songs_have():
    found = result("--out_dir learned --epochs 30")
    check(found["test"] < 15 and found["validation"] < 15, f"a model that learned: {found}")


def goes_on_where_it_was_stopped():
    for recipe in "adamw", "authors":
        flags = f"--recipe {recipe} --epochs 12 --learning_rate 1e-3"
        whole = result(f"--out_dir whole-{recipe} {flags}")
        part = f"--out_dir part-{recipe} {flags}"
        started = piano_rolls.start(f"--data data {part}")
        check(started.awaits(lambda: "epoch 4:" in read("output")), f"{recipe}: no epoch 4")
        stopped = started.end(signal.SIGTERM)
        check(stopped.status == 128 + signal.SIGTERM, f"{recipe}: status {stopped.status}: {stopped.errors}")
        check(result(part) == whole, f"{recipe}: other scores than those of a training without a stop, {whole}")
        files = [read(f"{kind}-{recipe}/best.safetensors") for kind in ("whole", "part")]
        check(files[0] == files[1], f"{recipe}: another best model")
        piano_rolls.ends(f"--data data {part} --dropout 0.3", 1, "last.safetensors: ")


def refuses_other_songs():
    write_set("bad")
    write_songs("bad/test.safetensors", (5,), 87)
    piano_rolls.refuses("--data bad --out_dir new", "bad/test.safetensors: frames [5, 87], expected [5, 88]")
    write_songs("bad/train.safetensors", (5, 1))
    piano_rolls.refuses("--data bad --out_dir new", "bad/train.safetensors: a song of 1 frames, expected at least 2")
    piano_rolls.refuses("--data none --out_dir new", "none/train.safetensors: ")
    piano_rolls.refuses("--data data --out_dir new --model gru", "gru")
    piano_rolls.refuses("--data data --out_dir new --recipe sgd", "sgd")


run(trains_models_of_one_size, learns_what_songs_have, goes_on_where_it_was_stopped, refuses_other_songs)
