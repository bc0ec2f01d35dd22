#!/usr/bin/env python3
"""Draws the claim about longer blocks from its results: pictures/extrapolation.svg.

    apt-get install python3-matplotlib
    picture.py [--check]

--check says whether the picture is of these results, and needs no matplotlib.
"""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "pictures/extrapolation.svg"
SHOWN = {  # what the claim is about, in colours; all others are grey
    "absolute sinusoids": "C0", "rotary positions": "C1", "ALiBi": "C2", "Transformer-XL's sinusoids": "C3",
    "R-Transformer": "C4",
}


def table():
    """The lengths, and for each model its bits at these."""
    claims = json.loads((HERE / "claims/results.json").read_text())["claims"]
    found = next(claim for claim in claims if claim["name"] == "extrapolation")["tables"][0]
    models = {name: [bits for bits, *_ in cells] for name, *cells in found["rows"]}
    return [int(length) for length in found["columns"]], models


def said(lengths, models):
    """The table in words, for who does not see the picture."""
    rows = (f"{name} {', '.join(map(str, bits))}" for name, bits in models.items())
    return f"Bits per character in blocks of {', '.join(map(str, lengths))}: {'; '.join(rows)}."


def draw(lengths, models):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
    matplotlib.rcParams["svg.hashsalt"] = "shiftgrad"  # the same picture has the same bytes
    from matplotlib import pyplot
    title = "Trained in blocks of 64: only some can read longer ones"
    figure, axes = pyplot.subplots(figsize=(7.5, 4.4), layout="constrained")
    for name, bits in models.items():
        colour = SHOWN.get(name, "silver")
        axes.plot(lengths, bits, color=colour, linewidth=2.5 if name in SHOWN else 1, zorder=3 if name in SHOWN else 2)
        if name in SHOWN:
            axes.annotate(name, (lengths[-1], bits[-1]), (8, 0), textcoords="offset points", color=colour, va="center")
    axes.plot([], [], color="silver", linewidth=1, label=f"{len(models) - len(SHOWN)} others of the claim's table")
    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, labels=map(str, lengths))
    axes.minorticks_off()
    axes.set(title=title, xlabel="characters in a block", ylabel="bits per character")
    axes.grid(alpha=0.4)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left")
    figure.savefig(PICTURE, metadata={"Date": None, "Title": title, "Description": said(lengths, models)})


def main(arguments):
    if arguments not in ([], ["--check"]):
        raise SystemExit(f"{__doc__}\n{arguments} is not expected")
    if not arguments:
        draw(*table())
    description = ElementTree.parse(PICTURE).find(".//{http://purl.org/dc/elements/1.1/}description")
    if description is None or description.text != said(*table()):
        raise SystemExit(f"{PICTURE}: the results give another picture; picture.py draws it")


main(sys.argv[1:])
