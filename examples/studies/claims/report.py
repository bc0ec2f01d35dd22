"""Scores the runs of claims and compares them: the results, from which the page is made."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

from decisions import Decisions, answer, tables
from statistics_of_scores import deviation, t_test
from study import PLACE, RECIPE, fail

SCORES = PLACE / "scores"


def output(variable, *arguments):
    done = subprocess.run([os.environ[variable], *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done.stdout


def line(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found and found[1]


# The measures of a run: numbers that are better when they are smaller, but for the length of a context.
def bits(run, *flags):
    return line(r"^([0-9.]*) bits per character$", output("CHAR_LM", "eval", f"{PLACE}/{run}", *flags))


def errors(run, *flags):
    return line(r"^([0-9.]*) % token error rate$", output("SEQ2SEQ", "eval", f"{PLACE}/{run}", *flags))


def logged(run):
    return line(r"^([0-9.]*) bits per character$", (PLACE / f"{run}.log").read_text())


def losses(run, *flags):
    """The loss of each character, kept as long as the run."""
    kept = SCORES / f"losses-{run}"
    if not kept.exists() or not kept.stat().st_size:
        output("CHAR_LM", "eval", f"{PLACE}/{run}", *flags, "--losses", f"{kept}.new")
        os.replace(f"{kept}.new", kept)
    return [float(loss) for loss in kept.read_text().split()]


def mean_bits(chosen):
    return f"{sum(chosen) / len(chosen) / math.log(2):.6f}"


def at_places(run, mode, first, last):
    """The mean over the characters at these places of segments of 64."""
    each = losses(run, "--mode", mode, "--tgt_len", "64")
    return mean_bits([loss for n, loss in enumerate(each) if int(first) <= n % 64 + 1 <= int(last)])


def copied(run, distance):
    """The mean over the letters of copied_text that are copies from 3, 7 or 11 characters back."""
    each = losses(run)
    return mean_bits([loss for n, loss in enumerate(each, 1) if n % 6 == (int(distance) - 1) // 2])


def recl(run, *names):
    """The relative effective context length of a run among those of these names with its seed."""
    seed = run.rpartition("-")[2]
    runs = [f"{PLACE}/{name}-{seed}" for name in names]
    kept = SCORES / f"context-{'-'.join(names)}-{seed}"
    if not kept.exists() or any(Path(f"{each}.done").stat().st_mtime > kept.stat().st_mtime for each in runs):
        flags = os.environ["context_flags"].split()
        kept.write_text(output("CHAR_LM", "context", *runs, *flags, "--out", f"{PLACE}/context.svg"))
    row = line(r"^ *0\.1 (.*)$", re.sub(">= *", "", kept.read_text()))
    return row and row.split()[runs.index(f"{PLACE}/{run}")]


MEASURES = {measure.__name__: measure for measure in (bits, errors, logged, at_places, copied, recl)}


def course(name, seed, *steps):
    """The loss of one training on held-out text after each of these steps, in bits."""
    file = PLACE / f"{name}-{seed}" / "metrics.jsonl"
    metrics = [json.loads(text) for text in (file.read_text() if file.exists() else "").splitlines()]
    found = {entry["step"]: entry["validation_loss"] for entry in metrics if "validation_loss" in entry}
    return [round(found[int(step)] / math.log(2), 6) if int(step) in found else "" for step in steps]


def score(measure, run, flags):
    """A score of a run, kept as long as the run."""
    what = f"{measure} {' '.join(flags)}".replace(" ", "_").replace("/", "_")
    kept = SCORES / f"{run}:{what}"
    if not kept.exists() or not kept.stat().st_size:
        number = MEASURES[measure](run, *flags)
        if not number:
            fail(f"{measure} of {PLACE}/{run} {' '.join(flags)}: no number")
        kept.write_text(number + "\n")
    return float(kept.read_text())


class Section:
    """The results of one claim; `seeds` has those of each training, by all claims together."""

    def __init__(self, claim, seeds):
        self.claim, self.seeds, self.scores = claim, seeds, {}

    def cells(self, word, arguments):
        if word == "course":
            return course(*arguments)
        if word == "blank":
            return [None]
        key, measure, name, *flags = arguments
        found = [score(measure, f"{name}-{seed}", flags) for seed in self.seeds[name]]
        self.scores[key] = name, found
        return [[round(sum(found) / len(found), 6), round(deviation(found), 6), len(found)]]

    def table(self, table):
        rows = [[row[0], *(cell for said in row[1:] for cell in self.cells(*said))] for row in table["rows"]]
        scored = any(said[0] == "score" for row in table["rows"] for said in row[1:])
        return {"text": table["text"], "columns": list(table["columns"]),
                "form": "{:.3f} ± {:.3f} ({})" if scored else "{:.2f}", "rows": rows}

    def compared(self, less, more, sentence, margin):
        """Whether one mean is below the other, or that plus the margin, by more than chance: p < 0.01."""
        (less_run, less), (more_run, more) = self.scores[less], self.scores[more]
        difference, error, p = t_test(less, more, less_run == more_run, margin)
        return {"sentence": sentence, "answer": answer(p, difference), "difference": round(difference, 6),
                "error": round(error, 6), **({"margin": margin} if margin else {}),
                **({"p_below": 0.0001} if p < 0.0001 else {"p": round(p, 6)})}

    def reason(self, outcomes):
        for expected, text in self.claim.reasons:
            if expected.split() == outcomes[:len(expected.split())]:
                return text
        return (f"These outcomes are not explained: the reason in `examples/studies/claims/{self.claim.name}.sh` "
                "is for others.") if self.claim.reasons else ""

    def results(self, about):
        """What was found for the claim, in a run that is described by `about`."""
        claim = self.claim
        runs = [f"{name}-{seed}" for name in claim.trainings for seed in self.seeds[name]]
        times = [PLACE / f"{run}.seconds" for run in runs]
        found = {"name": claim.name, "title": claim.title, "source": claim.source, "trainings": len(runs)}
        if all(time.exists() for time in times):
            found["minutes"] = round(sum(float(time.read_text()) for time in times) / 60 + 0.5)
        found["tables"] = [self.table(table) for table in claim.tables]
        found["comparisons"] = [self.compared(*comparison) for comparison in claim.comparisons]
        deciding = claim.comparisons[claim.decides]
        seeds = self.seeds[self.scores[deciding[0]][0]]
        found["comparisons"][claim.decides] |= {"decides": True, "seeds": [seeds[0], seeds[-1]]}
        decided = Decisions(found, about).answer
        reason = self.reason([decided if each.get("decides") else each["answer"] for each in found["comparisons"]])
        return found | ({"reason": reason} if reason else {})


def results(claims):
    seeds = {}
    for claim in claims:
        for run in claim.plan():
            name, _, seed = run.rpartition("-")
            seeds.setdefault(name, set()).add(int(seed))
    seeds = {name: sorted(found) for name, found in seeds.items()}
    text, training = Path(os.environ["text"]), os.environ.get("TRAINING", "")
    about = {**tables.measured("examples/studies/claims.sh TEXT"), "bytes": text.stat().st_size,
             "flags": f"{RECIPE} {training}".rstrip()}
    return about | {"claims": [Section(claim, seeds).results(about) for claim in claims]}
