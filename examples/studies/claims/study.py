"""What the words of a claim mean: what is trained for it, what is scored, and what that decides."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

PLACE = Path(os.environ["PLACE"])
RECIPE = os.environ["recipe"]
TRANSLATING = "--n_embd 64 --max_iters 400 --learning_rate 2e-3 --eval_interval 400"
# Of each word for a training: its program, whether the text is named, and the flags before and behind its own.
TRAININGS = {
    "trained": ("char_lm", False, f"--data {{text}} {RECIPE}", "TRAINING"),
    "trained_on": ("char_lm", True, f"--data {{text}} {RECIPE}", "TRAINING"),
    "translator": ("seq2seq", False, TRANSLATING, "TRANSLATING"),
    "translator_on": ("seq2seq", True, f"{TRANSLATING} --data {{text}}", "TRANSLATING"),
    "convolved": ("convolution", False, "--data {text}", "CONVOLVING"),
    "restarted": ("restarted", False, "--data {text}", "RESTARTING"),
}


def fail(message):
    sys.exit(f"claims.sh: {message}")


@dataclass
class Claim:
    name: str
    title: str
    source: str
    extent: str = ""
    trainings: dict = field(default_factory=dict)  # name: (program, flags)
    tables: list = field(default_factory=list)  # {text, columns, rows: [label, (word, arguments)…]}
    scores: list = field(default_factory=list)  # (key, measure, name, flags)
    comparisons: list = field(default_factory=list)  # (less, more, sentence, margin), the decisive one first
    decides: int = -1  # the place of the decisive comparison
    reasons: list = field(default_factory=list)  # (outcomes, text)

    def say(self, word, *arguments):
        """One word of the claim with what it was given."""
        if word in TRAININGS:
            self.train(word, arguments)
        elif word == "extent":
            [self.extent] = arguments
        elif word == "table":
            self.tables.append({"text": arguments[0], "columns": arguments[1:], "rows": []})
        elif word == "row":
            self.tables[-1]["rows"].append([arguments[0]])
        elif word == "because":
            self.reason(*arguments)
        elif word in ("decides", "expect"):
            self.compare(word, *arguments)
        else:
            self.tables[-1]["rows"][-1].append((word, arguments))
            if word == "score":
                self.scores.append((*arguments[:3], arguments[3:]))

    def train(self, word, arguments):
        program, named, before, behind = TRAININGS[word]
        text = arguments[0] if named else os.environ["text"]
        name, *flags = arguments[named:]
        flags = [before.format(text=text), *flags, os.environ.get(behind, "")]
        self.trainings[name] = program, " ".join(part for part in flags if part)

    def compare(self, word, less, more, sentence, margin="0"):
        if word == "decides":
            if self.decides >= 0:
                fail(f"{self.name}: a second comparison that decides: {sentence}")
            self.decides = len(self.comparisons)
        self.comparisons.append((less, more, sentence, float(margin)))

    def reason(self, outcomes, text):
        if len(outcomes.split()) != len(self.comparisons):
            fail(f"{self.name}: a reason for '{outcomes}', but there are {len(self.comparisons)} comparisons")
        self.reasons.append((outcomes, text))

    def seeds(self, name):
        """The seeds of a training: what decides the claim has more."""
        many, few = int(os.environ.get("SEEDS", 10)), int(os.environ.get("OTHER_SEEDS", 3))
        decisive = name in [score[2] for score in self.scores if score[0] in self.comparisons[self.decides][:2]]
        count = {"all": many, "few": few, "thrice": 3 * many if decisive else few, "": many if decisive else few}
        first = int(os.environ.get("FIRST_SEED", 1))
        return range(first, first + count[self.extent])

    def plan(self):
        """The trainings, one for each seed: {run: (program, flags)}."""
        return {f"{name}-{seed}": (program, f"--seed {seed} {flags}")
                for name, (program, flags) in self.trainings.items() for seed in self.seeds(name)}


def read_claims(names):
    """What each claim said, from the words that were written down."""
    parts = (PLACE / "words").read_text().split("\0")[:-1]
    claims, names = [], iter(names)
    while parts:
        count = int(parts[0])
        word, *arguments = parts[1:1 + count]
        parts = parts[1 + count:]
        if word == "claim":
            claims.append(Claim(next(names), *arguments))
        else:
            claims[-1].say(word, *arguments)
    for claim in claims:
        if claim.decides < 0:
            fail(f"{claim.name}: no comparison decides it")
    return claims
