"""The notation of chorales as text, which all scripts here share.

A line is a chorale. It goes through the 16ths of the score, and in each through the four voices, from the
soprano down. The character of a pitch is the one with its MIDI number in ASCII: `$` for 36, the C two octaves
below the middle one, to `Q` for 81. A space is a rest. A note that goes on is written again in each 16th.
"""

import sys

VOICES = "soprano", "alto", "tenor", "bass"
REST = " "
LOWEST, HIGHEST = 33, 126  # the visible characters of ASCII


def character(pitch):
    """Returns the character of a MIDI pitch, or of a rest for None."""
    if pitch is None:
        return REST
    if not LOWEST <= pitch <= HIGHEST:
        raise ValueError(f"pitch {pitch}, expected {LOWEST} to {HIGHEST}")
    return chr(pitch)


def line(steps):
    """Returns the text of a chorale from its steps, each of one pitch or None for a voice."""
    return "".join(character(pitch) for step in steps for pitch in step)


def steps(text):
    """Returns the steps of a chorale's text."""
    for place, one in enumerate(text, 1):
        if one != REST and not LOWEST <= ord(one) <= HIGHEST:
            raise ValueError(f"character {place}, {one!r}, is no pitch")
    if len(text) % len(VOICES):
        raise ValueError(f"{len(text)} characters, expected four for each 16th")
    pitches = [None if one == REST else ord(one) for one in text]
    return [pitches[n : n + len(VOICES)] for n in range(0, len(pitches), len(VOICES))]


def notes(voice):
    """Yields (start, end, pitch) in 16ths of a voice's notes. Equal pitches in a row are one note."""
    start = 0
    for now in range(1, len(voice) + 1):
        if now == len(voice) or voice[now] != voice[start]:
            if voice[start] is not None:
                yield start, now, voice[start]
            start = now


def read_chorale(path):
    """Returns the steps of the only chorale in a file (- for standard input), whose other lines are empty."""
    with open(0 if path == "-" else path, encoding="ascii") as file:
        lines = [text for text in file.read().split("\n") if text]
    if len(lines) != 1:
        raise ValueError(f"{path}: {len(lines)} chorales, expected one")
    try:
        return steps(lines[0])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def run(main):
    """Calls main and ends the program: with 2 and the reason for bad input."""
    try:
        main()
    except (OSError, ValueError) as error:
        print(f"{sys.argv[0].rsplit('/')[-1]}: {error}", file=sys.stderr)
        sys.exit(2)
