#!/usr/bin/env python3
"""Prints where in a quarter the notes of chorales change: on the beat, on the eighth, or between.

    beat.py TEXT...

Each TEXT is a file (- for standard input) of chorales, a line each, which may break off. A voice changes in a 16th where
it has another pitch than in the one before. Each line is taken to begin on a beat.
"""

import argparse

import notation


def changes(text):
    """Returns how many notes of a chorale change on each of the four 16ths of a quarter."""
    counts = [0, 0, 0, 0]
    voices = len(notation.VOICES)
    for place in range(voices, len(text)):
        counts[place // voices % 4] += text[place] != text[place - voices]
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="file of chorales, - for standard input")
    flags = parser.parse_args()
    sums = [0, 0, 0, 0]
    for path in flags.texts:
        with open(0 if path == "-" else path, encoding="ascii") as file:
            for line in file:
                sums = [a + b for a, b in zip(sums, changes(line.rstrip("\n")))]
    total = sum(sums)
    if not total:
        raise ValueError("no note changes in these chorales")
    on_beat, on_eighth, between = sums[0], sums[2], sums[1] + sums[3]
    print(f"{total} changes: {on_beat / total:.1%} on the beat, {on_eighth / total:.1%} on the eighth, {between / total:.1%} between")


if __name__ == "__main__":
    notation.run(main)
