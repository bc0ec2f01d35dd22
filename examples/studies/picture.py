#!/usr/bin/env python3
"""Draws the claim about longer blocks from its results: pictures/extrapolation.svg, in light and in dark.

    picture.py [--check]

--check says whether the picture is what the results give.
"""

import json
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "pictures/extrapolation.svg"
CLAIM = "extrapolation"
SHOWN = {  # what the claim is about, in colours; all others are grey
    "absolute sinusoids": 1, "rotary positions": 3, "ALiBi": 2, "Transformer-XL's sinusoids": 0, "R-Transformer": 4,
}
LEFT, TOP, WIDTH, HEIGHT, LABELS = 70, 50, 400, 350, 250
LEAST, MOST = 2.5, 4.4  # bits
LINE = 15  # pixels between two labels
STYLE = """
svg { color-scheme: light dark; --paper: #fff; --ink: #1b1d20; --faint: #5a5f66; --line: #d5d8dc; }
.c0 { --c: #1f63b5 } .c1 { --c: #b64d00 } .c2 { --c: #0c7560 } .c3 { --c: #8d3fae } .c4 { --c: #6d680c }
@media (prefers-color-scheme: dark) {
  svg { --paper: #16181c; --ink: #e2e4e8; --faint: #a3a9b3; --line: #434955; }
  .c0 { --c: #7db4f5 } .c1 { --c: #f39a5e } .c2 { --c: #3dcca5 } .c3 { --c: #d3a4ec } .c4 { --c: #d6cf4a }
}
text { font: 12px system-ui, 'DejaVu Sans', Arial, sans-serif; fill: var(--ink); }
.title { font-size: 14px; font-weight: 600; }
.paper { fill: var(--paper); }
.grid { stroke: var(--line); }
.curve { fill: none; stroke: var(--c, var(--faint)); stroke-width: 2.5; stroke-linejoin: round; }
.curve.others { stroke-width: 1; }
.leader { fill: none; stroke: var(--line); }
.end { fill: var(--c, var(--faint)); }"""


def spread(places):
    """Moves labels apart until each has its line."""
    order, moved = sorted(range(len(places)), key=lambda n: places[n]), list(places)
    for _ in range(500):
        for above, below in zip(order, order[1:]):
            lacks = LINE - (moved[below] - moved[above])
            if lacks > 0:
                moved[above] -= lacks / 2
                moved[below] += lacks / 2
    return moved


def drawn(lengths, rows):
    first, last = math.log2(lengths[0]), math.log2(lengths[-1])
    x_of = lambda length: LEFT + 14 + (WIDTH - 28) * (math.log2(length) - first) / (last - first)
    y_of = lambda bits: TOP + HEIGHT * (MOST - bits) / (MOST - LEAST)
    said = "; ".join(f"{name} goes from {cells[0][0]} to {cells[-1][0]}" for name, *cells in rows)
    width, height = LEFT + WIDTH + LABELS, TOP + HEIGHT + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        'aria-labelledby="title description">',
        '<title id="title">Loss by the length of the block</title>',
        f'<desc id="description">Bits per character in blocks of {lengths[0]} and of {lengths[-1]}: {said}.</desc>',
        f"<style>{STYLE}\n</style>", '<rect class="paper" width="100%" height="100%"/>',
        f'<text x="{LEFT}" y="26" class="title">Trained in blocks of 64: only some can read longer ones</text>',
    ]
    for length in lengths:
        x = f"{x_of(length):.1f}"
        parts.append(f'<path class="grid" d="M{x} {TOP}V{TOP + HEIGHT}"/>'
                     f'<text x="{x}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{length}</text>')
    for bits in (2.5, 3, 3.5, 4):
        y = y_of(bits)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{LEFT + WIDTH}"/>'
                     f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{bits}</text>')
    middle = TOP + HEIGHT / 2
    parts.append(f'<text x="{LEFT + WIDTH / 2:.0f}" y="{height - 10}" text-anchor="middle">block, characters</text>')
    parts.append(f'<text transform="rotate(-90 20 {middle:.0f})" x="20" y="{middle:.0f}" text-anchor="middle">bits per character</text>')
    rows = sorted(rows, key=lambda row: row[0] in SHOWN)  # these lie over the others
    labels = spread([y_of(cells[-1][0]) for _, *cells in rows])
    for (name, *cells), label in zip(rows, labels):
        kind = f"c{SHOWN[name]}" if name in SHOWN else "others"
        line = "L".join(f"{x_of(length):.1f} {y_of(cell[0]):.1f}" for length, cell in zip(lengths, cells))
        end = x_of(lengths[-1])
        parts.append(f'<path class="curve {kind}" d="M{line}"/>'
                     f'<path class="leader" d="M{end + 4:.1f} {y_of(cells[-1][0]):.1f}L{LEFT + WIDTH + 12} {label:.1f}"/>'
                     f'<text class="end {kind}" x="{LEFT + WIDTH + 16}" y="{label + 4:.1f}">{name.split(",")[0]}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def main(arguments):
    if arguments not in ([], ["--check"]):
        raise SystemExit(f"{__doc__}\n{arguments} is not expected")
    results = json.loads((HERE / "claims/results.json").read_text())
    table = next(claim for claim in results["claims"] if claim["name"] == CLAIM)["tables"][0]
    text = drawn([int(length) for length in table["columns"]], table["rows"])
    if arguments and text != PICTURE.read_text():
        raise SystemExit(f"{PICTURE}: the results give another picture; picture.py draws it")
    if not arguments:
        PICTURE.write_text(text)


main(sys.argv[1:])
