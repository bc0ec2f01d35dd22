"""The results of the trainings so far, what they decide by the protocol, and their tables.

`valid` of a training is the loss that chooses, in nats as char_lm prints it. On the last rung, `valid` and `test` are scores, in
the unit of the part.
"""

import json
import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from protocol import PARTS, flags_of

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tables  # noqa: E402

BITS = {"title": "bits per character", "form": "{:.3f}"}
NATS = {"title": "nats per note", "form": "{:.3f}"}


def key(training):
    """What tells a training from all others."""
    return tuple(training[name] for name in ("part", "arm", "rung", "setting", "seed"))


def mean(values):
    """The mean; that of a training whose loss was not finite is infinite."""
    return statistics.mean(math.inf if value is None else value for value in values)


def key_of(part, arm, rung, setting, seed):
    return part.name, arm.name, rung.name, str(setting), seed


def words(flags):
    return [word for name, value in flags.items() for word in (f"--{name}", value)]


@dataclass
class Decision:
    setting: object
    trainings: list
    valid: float
    test: float


class Results:
    def __init__(self, file):
        self.file = file
        self.kept = json.loads(file.read_text()) if file.exists() else {}
        self.trainings = {key(training): training for training in self.kept.get("trainings", [])}
        self.check()

    def of(self, part, arm, rung, setting):
        """The trainings of a setting on a rung that are there, in the order of their seeds."""
        found = [self.trainings.get((part.name, arm.name, rung.name, str(setting), seed)) for seed in rung.seeds]
        return [training for training in found if training]

    def settings(self, part, arm, place):
        """The settings that a rung trains, or None while the rung before it is not done."""
        if place == 0:
            return arm.settings
        before, rung = self.settings(part, arm, place - 1), part.rungs[place - 1]
        if before is None or any(len(self.of(part, arm, rung, setting)) < len(rung.seeds) for setting in before):
            return None
        order = sorted(before, key=lambda setting: mean(each["valid"] for each in self.of(part, arm, rung, setting)))
        return tuple(order[:rung.keep])

    def decided(self, part, arm):
        """The chosen setting with its scores, or None while seeds are missing."""
        settings, rung = self.settings(part, arm, len(part.rungs) - 1), part.rungs[-1]
        if settings is None:
            return None
        trainings = self.of(part, arm, rung, settings[0])
        if len(trainings) < len(rung.seeds):
            return None
        return Decision(settings[0], trainings, *(mean(each[score] for each in trainings) for score in ("valid", "test")))

    def all(self):
        """Each training that the protocol could ask for, in its order, as (part, arm, rung, setting, seed)."""
        for part in PARTS:
            for arm in part.arms(part, self):
                for rung in part.rungs:
                    for setting in arm.settings:
                        for seed in rung.seeds:
                            yield part, arm, rung, setting, seed

    def check(self):
        """Refuses results that the protocol does not ask for: it must not change once there are any."""
        flags = {key_of(*each): " ".join(words(flags_of(*each))) for each in self.all()}
        for place, training in self.trainings.items():
            if training["flags"] != flags.get(place):
                raise ValueError(f"{self.file}: a training with other flags than the protocol's: {training['flags']}")

    def missing(self):
        """The trainings that are left, in the order of the protocol, as far as its choices are made."""
        for part, arm, rung, setting, seed in self.all():
            settings = self.settings(part, arm, part.rungs.index(rung)) or ()
            if setting in settings and key_of(part, arm, rung, setting, seed) not in self.trainings:
                yield part, arm, rung, setting, seed

    def add(self, training):
        self.trainings[key(training)] = training
        self.write()

    def write(self):
        self.kept["trainings"] = [self.trainings[key_of(*each)] for each in self.all()
                                  if key_of(*each) in self.trainings]
        made = {name: table for part in PARTS for name, table in self.tables(part)}
        self.kept["tables"] = self.kept.get("tables", {}) | made
        tables.write(self.file, self.kept)

    def hours(self):
        return sum(training["minutes"] for training in self.trainings.values()) / 60

    def tables(self, part):
        """The part's tables: of what was decided, and of each setting's loss on the way."""
        arms = part.arms(part, self)
        decided = {arm.name: self.decided(part, arm) for arm in arms}
        rows = [row(name, found, part) for name, found in decided.items() if found]
        measure = NATS if part.notes else BITS
        columns = ["model", "parameters", "multiplications a token", "chosen", "seeds", "minutes",
                   measure | {"title": f"{measure['title']}, validation"}, measure | {"title": f"{measure['title']}, test"},
                   {"title": "deviation", "form": "{:.3f}"}]
        columns[3] = {"title": "chosen", "text": True}
        yield part.name, {"columns": columns, "rows": sorted(rows, key=lambda each: each[7])}
        searched = [[arm.name, str(setting), *(loss(self.of(part, arm, rung, setting)) for rung in part.rungs[:-1])]
                    for arm in arms for setting in arm.settings if self.of(part, arm, part.rungs[0], setting)]
        columns = [{"title": "model", "text": True}, {"title": "setting", "text": True},
                   *({"title": f"nats after {rung.steps} steps", "form": "{:.3f}"} for rung in part.rungs[:-1])]
        yield f"{part.name}_search", {"columns": columns, "rows": searched}


def loss(trainings):
    found = mean(each["valid"] for each in trainings) if trainings else math.inf
    return round(found, 5) if math.isfinite(found) else None


def row(name, found, part):
    """A row of the table of decisions."""
    one = found.trainings[0]
    scores = [each["test"] for each in found.trainings]
    deviation = statistics.stdev(scores) if len(scores) > 1 else None
    return [name, one["parameters"], one["multiplications"], f"`{found.setting}`", len(scores),
            round(statistics.mean(each["minutes"] for each in found.trainings), 1), round(found.valid, 4), round(found.test, 4),
            deviation and round(deviation, 4)]
