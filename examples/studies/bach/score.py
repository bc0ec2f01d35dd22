#!/usr/bin/env python3
"""Prints the mean loss of a model on the notes of a text, in nats.

    score.py CHAR_LM RUN TEXT [--block 256] [--stride 64]

Each note is predicted in a block that began block - stride to block - 1 tokens before it, and so is seen from
equal context by models with absolute positions and with relative ones. The first notes have fewer before them, and
nothing predicts the very first. Line feeds are scored and do not count.
"""

import argparse
import sys
from pathlib import Path

import notation

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import overlapping_blocks  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("char_lm", help="the program")
    parser.add_argument("run", help="folder of a training, or a checkpoint")
    parser.add_argument("text", help="file of chorales, a line each")
    parser.add_argument("--block", type=int, default=256, metavar="TOKENS", help="length of a block")
    parser.add_argument("--stride", type=int, default=64, metavar="TOKENS", help="how far apart blocks begin")
    parser.add_argument("--threads", type=int, default=0, help="threads to use, 0 for char_lm's own number")
    flags = parser.parse_args()
    if not 1 <= flags.stride < flags.block:
        raise ValueError("--stride: expected at least 1 and less than --block")
    text = Path(flags.text).read_bytes()
    losses = overlapping_blocks.losses(flags.char_lm, flags.run, text, flags.block, flags.stride, flags.threads)
    counted = [loss for note, loss in zip(text[1:], losses, strict=True) if note != ord("\n")]
    print(f"{sum(counted) / len(counted):.4f}")


if __name__ == "__main__":
    notation.run(main)
