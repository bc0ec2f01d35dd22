#!/usr/bin/env python3
"""Writes train.txt, valid.txt and test.txt for char_lm from Jsb16thSeparated.json.

    texts.py Jsb16thSeparated.json FOLDER [--transpose N] [--bars]

With --transpose, each training chorale also stands in train.txt 1 to N semitones higher and lower, as far as
each voice stays in the range that it has in the other training chorales. With --bars, further line feeds fill each chorale
to whole bars of 16 sixteenths, so that char_lm's --block_step 64 begins a block where a bar begins.
"""

import argparse
import json
import os

import notation


def pitch(number):
    """Returns the pitch that the data have as a number. Rests are -1 or NaN there."""
    return int(number) if number is not None and number >= 0 else None


def read_split(chorales):
    split = [[[pitch(number) for number in step] for step in chorale] for chorale in chorales]
    for chorale in split:
        if any(len(step) != len(notation.VOICES) for step in chorale):
            raise ValueError("a step without four voices; this takes Jsb16thSeparated.json")
    return split


def pitches(chorales, voice):
    return {step[voice] for chorale in chorales for step in chorale} - {None}


def transposed(chorale, semitones, ranges):
    """Returns the chorale so much higher, or None where a voice would leave its range."""
    result = [[None if low is None else low + semitones for low in step] for step in chorale]
    for step in result:
        for now, (lowest, highest) in zip(step, ranges):
            if now is not None and not lowest <= now <= highest:
                return None
    return result


def augmented(chorales, reach):
    """Returns the chorales, and after them their transpositions."""
    voices = [pitches(chorales, voice) for voice in range(len(notation.VOICES))]
    ranges = [(min(voice, default=0), max(voice, default=0)) for voice in voices]
    shifts = [shift for n in range(1, reach + 1) for shift in (n, -n)]
    copies = [transposed(chorale, shift, ranges) for shift in shifts for chorale in chorales]
    return chorales + [copy for copy in copies if copy]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("json", help="Jsb16thSeparated.json")
    parser.add_argument("folder", help="folder for the texts")
    parser.add_argument("--transpose", type=int, default=0, metavar="N", help="semitones to transpose at most")
    parser.add_argument("--bars", action="store_true", help="fill each chorale to whole bars with line feeds")
    flags = parser.parse_args()
    bar = 16 * len(notation.VOICES) if flags.bars else 1
    with open(flags.json, encoding="utf-8") as file:
        try:
            splits = {name: read_split(chorales) for name, chorales in json.load(file).items()}
            splits = {name: splits[name] for name in ("train", "valid", "test")}
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{flags.json}: not the chorales: {error!r}") from None
    splits["train"] = augmented(splits["train"], flags.transpose)
    texts = {name: [notation.line(chorale) for chorale in chorales] for name, chorales in splits.items()}
    known = set("".join(texts["train"]))
    for name, lines in texts.items():
        if new := sorted(set("".join(lines)) - known):
            raise ValueError(f"{name} has pitches that train has not: {' '.join(str(ord(one)) for one in new)}")
    os.makedirs(flags.folder, exist_ok=True)
    for name, lines in texts.items():
        with open(os.path.join(flags.folder, name + ".txt"), "w", encoding="ascii") as file:
            file.writelines(text + "\n" * (1 + -(len(text) + 1) % bar) for text in lines)
        print(f"{name}.txt: {len(lines)} chorales, {sum(map(len, lines))} notes")


if __name__ == "__main__":
    notation.run(main)
