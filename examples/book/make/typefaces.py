#!/usr/bin/python3
"""Writes the book's typefaces into the folder that is its argument, in woff2: one for the text, one for what stands
around it, one for code.

They are Debian's fonts-paratype with no more than the characters of western languages and of simple formulas (of
indices they have a few, which would stand beside others from another typeface). ParaType's licence wants a font that was
changed to have another name, and to come with the licence: notices.txt has it (.packaging/notices.py).
"""

import os
import pathlib
import sys

from fontTools import subset

PARATYPE = pathlib.Path(os.environ.get("TYPEFACES", "/usr/share/fonts/truetype/paratype"))
FACES = {
    "serif": ("PTF55F", "Book Serif"), "serif-italic": ("PTF56F", "Book Serif"), "serif-bold": ("PTF75F", "Book Serif"),
    "sans": ("PTS55F", "Book Sans"), "sans-bold": ("PTS75F", "Book Sans"), "mono": ("PTM55F", "Book Mono"),
}
CHARACTERS = "U+0020-007E,U+00A0-017F,U+0391-03C9,U+2010-2027,U+2032,U+2033,U+2039,U+203A,U+2190-2193,U+2200-2265,U+25AA"
COPYRIGHT, FAMILY, STYLE, IDENTIFIER, FULL_NAME, VERSION, POSTSCRIPT_NAME, LICENSE, LICENSE_ADDRESS = 0, 1, 2, 3, 4, 5, 6, 13, 14


def rename(font, family):
    """Leaves of the font's names only the family's new one, whose it is, and under which licence."""
    names = font["name"]
    style = names.getDebugName(STYLE)
    kept = {number: names.getDebugName(number) for number in (COPYRIGHT, STYLE, VERSION, LICENSE, LICENSE_ADDRESS)}
    names.names = []
    for number, text in {
        **kept, FAMILY: family, FULL_NAME: f"{family} {style}", IDENTIFIER: f"shiftgrad: {family} {style}",
        POSTSCRIPT_NAME: f"{family} {style}".replace(" ", ""),
    }.items():
        names.setName(text, number, 3, 1, 0x409)


def write(name, source, family, folder):
    # Hints are two thirds of a file, and serve screens of few and large pixels alone.
    options = subset.Options(flavor="woff2", layout_features=["*"], name_IDs=["*"], hinting=False)
    font = subset.load_font(str(PARATYPE / f"{source}.ttf"), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=subset.parse_unicodes(CHARACTERS))
    subsetter.subset(font)
    rename(font, family)
    subset.save_font(font, str(folder / f"{name}.woff2"), options)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (source, family) in FACES.items():
        write(name, source, family, folder)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
