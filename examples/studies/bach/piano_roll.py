#!/usr/bin/env python3
"""Draws a chorale's text as a piano roll in SVG.

    piano_roll.py TEXT OUT.svg

Time runs to the right, with a line at each quarter; pitch rises, with a line at each C. Equal pitches in a row
are one note.
"""

import argparse

import notation

WIDTH, HEIGHT = 4, 6  # of a 16th and of a semitone, in pixels
MARGIN = 28
COLORS = "#c0392b", "#d68910", "#1e8449", "#21618c"


def bar(x, y, length):
    return f"M{x} {y}h{length * WIDTH - 1}v{HEIGHT - 1}H{x}z"


def drawn(steps):
    """Yields the lines of the picture."""
    voices = [list(notation.notes(voice)) for voice in zip(*steps)]
    pitches = [pitch for voice in voices for _, _, pitch in voice] or [60]
    low, high = min(pitches) - 1, max(pitches) + 1
    right, bottom = MARGIN + len(steps) * WIDTH, (high - low + 1) * HEIGHT

    def y(pitch):
        return (high - pitch) * HEIGHT

    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{right + 8}" height="{bottom + 22}" '
    yield 'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
    quarters = "".join(f"M{MARGIN + n * WIDTH} 0v{bottom}" for n in range(0, len(steps) + 1, 4))
    yield f'<path d="{quarters}" stroke="#eeeeee"/>'
    for pitch in range(low + -low % 12, high + 1, 12):
        yield f'<path d="M{MARGIN} {y(pitch - 0.5)}H{right}" stroke="#bbbbbb"/>'
        yield f'<text x="2" y="{y(pitch - 0.5)}">C{pitch // 12 - 1}</text>'
    for n, (name, color, voice) in enumerate(zip(notation.VOICES, COLORS, voices)):
        bars = "".join(bar(MARGIN + start * WIDTH, y(pitch), end - start) for start, end, pitch in voice)
        yield f'<path d="{bars}" fill="{color}"/>'
        yield f'<text x="{MARGIN + 70 * n}" y="{bottom + 15}" fill="{color}">{name}</text>'
    yield "</svg>"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", help="file with one chorale, - for standard input")
    parser.add_argument("out", help="SVG file to write")
    flags = parser.parse_args()
    picture = "\n".join(drawn(notation.read_chorale(flags.text)))
    with open(flags.out, "w", encoding="ascii") as file:
        file.write(picture + "\n")


if __name__ == "__main__":
    notation.run(main)
