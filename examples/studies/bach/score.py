#!/usr/bin/env python3
"""Prints the mean loss of a model on the notes of a text, in nats.

    score.py CHAR_LM RUN TEXT [--block 256] [--stride 64]

Each note is predicted in a block that began block - stride to block - 1 tokens before it, and so is seen from
equal context by models with absolute positions and with relative ones. For this, char_lm scores, as separate
blocks, a text of overlapping ones, and only the last notes of each count. So do all notes of the first but
the very first, which nothing predicts. Line feeds are scored and do not count.
"""

import argparse
import os
import subprocess
import tempfile

import notation


def losses_in_blocks(flags, text):
    """Returns -log p of each token of the text as char_lm scores it in separate blocks, 0 for the first."""
    with tempfile.TemporaryDirectory() as folder:
        path, losses = (os.path.join(folder, name) for name in ("text", "losses"))
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        command = [flags.char_lm, "eval", flags.run, "--data", path, "--eval_split", "1", "--losses", losses]
        command += ["--mode", "chunks", "--tgt_len", str(flags.block), "--threads", str(flags.threads)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr.strip())
        with open(losses, encoding="ascii") as file:
            return [0.0] + [float(line) for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("char_lm", help="the program")
    parser.add_argument("run", help="folder of a training, or a checkpoint")
    parser.add_argument("text", help="file of chorales, a line each")
    parser.add_argument("--block", type=int, default=256, metavar="TOKENS", help="length of a block")
    parser.add_argument("--stride", type=int, default=64, metavar="TOKENS", help="how far apart blocks begin")
    parser.add_argument("--threads", type=int, default=0, help="threads to use, 0 for one per core")
    flags = parser.parse_args()
    if not 1 <= flags.stride < flags.block:
        raise ValueError("--stride: expected at least 1 and less than --block")
    with open(flags.text, encoding="ascii") as file:
        text = file.read()
    last = max(len(text) - flags.block, 0)
    starts = list(range(0, last + flags.stride, flags.stride))
    losses = losses_in_blocks(flags, "".join(text[start : start + flags.block] for start in starts))
    counted = []
    for n, start in enumerate(starts):
        for offset in range(flags.block - flags.stride if start else 1, len(text[start : start + flags.block])):
            if text[start + offset] != "\n":
                counted.append(losses[n * flags.block + offset])
    print(f"{sum(counted) / len(counted):.4f}")


if __name__ == "__main__":
    notation.run(main)
