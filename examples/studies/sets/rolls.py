#!/usr/bin/env python3
"""Works through the trainings on Nottingham, one at a time, each on one thread, and keeps the results.

    rolls.py FOLDER [--list] [--commit]

FOLDER has the set as sets.py writes it. Runs stay in a folder rolls where the script is called. What rolls.json beside this script
has is not made again, and an unfinished training goes on from its last checkpoint, so the script can be stopped at any time.
README.md has the protocol. --list prints what is left; --commit commits rolls.json and the page after each training. PIANO_ROLLS names
the program, and COMMIT the commit that it was built from, by default that of this checkout.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tables  # noqa: E402

PROGRAM = os.environ.get("PIANO_ROLLS", str(HERE.parents[2] / "build/examples/studies/piano_rolls"))
RESULTS = HERE / "rolls.json"
ARMS = "r_transformer", "transformer", "transformer_xl", "local_rnn", "aft"
SETTINGS = [{"learning_rate": rate, "dropout": dropout} for rate in (1e-3, 2e-3) for dropout in (0.2, 0.4)]
SEEDS = {"r_transformer": (1001, 1002, 1003)}
AUTHORS = {"model": "r_transformer", "recipe": "authors", "learning_rate": 5e-5, "dropout": 0.1, "epochs": 100, "seed": 1001}


def same(training, flags):
    return all(training[name] == value for name, value in flags.items())


class Results:
    def __init__(self):
        self.kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"trainings": []}

    def of(self, flags):
        """The training with these flags, or None."""
        return next((each for each in self.kept["trainings"] if same(each, flags)), None)

    def searched(self, arm):
        """The flags of the arm's search, and of its decision once that is over."""
        search = [{"model": arm, "recipe": "adamw", **setting, "epochs": 8, "seed": 1} for setting in SETTINGS]
        found = [self.of(flags) for flags in search]
        if not all(found):
            return search, []
        best = min(range(len(found)), key=lambda place: found[place]["validation"])
        return search, [search[best] | {"epochs": 40, "seed": seed} for seed in SEEDS.get(arm, (1001,))]

    def all(self):
        """The flags of each training that can be made by now, in order."""
        for arm in ARMS:
            search, decision = self.searched(arm)
            yield from search + decision
            if arm == AUTHORS["model"] and decision:
                yield AUTHORS

    def missing(self):
        return (flags for flags in self.all() if not self.of(flags))

    def add(self, training):
        self.kept["trainings"].append(training)
        self.write()

    def write(self):
        decided = [self.searched(arm)[1] for arm in ARMS] + [[AUTHORS]]
        rows = [row(found) for flags in decided if (found := [each for one in flags if (each := self.of(one))])]
        score = {"title": "nats a frame, validation", "form": "{:.3f}"}, {"title": "nats a frame, test", "form": "{:.3f}"}
        columns = ["model", {"title": "chosen", "text": True}, "parameters", "epochs", "seeds", "minutes", *score]
        self.kept["tables"] = {"nottingham": {"columns": columns, "rows": sorted(rows, key=lambda each: each[7])}}
        tables.write(RESULTS, self.kept)


def row(found):
    """A row of the table, of trainings that differ in their seeds."""
    one = found[0]
    chosen = "the authors' recipe" if one["recipe"] == "authors" else f"rate {one['learning_rate']}, dropout {one['dropout']}"
    mean = {name: statistics.mean(each[name] for each in found) for name in ("minutes", "validation", "test")}
    return [one["model"], chosen, one["parameters"], one["epochs"], len(found), round(mean["minutes"], 1),
            round(mean["validation"], 4), round(mean["test"], 4)]


def train(folder, flags):
    """Trains, or goes on, and returns what is kept of it."""
    place = Path("rolls") / "-".join(str(value) for value in flags.values())
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    place.parent.mkdir(exist_ok=True)
    seconds = Path(f"{place}.seconds")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(f"{place}.log", "a") as log:
        done = subprocess.run([PROGRAM, "--data", folder, "--out_dir", place, *words], stdout=log, stderr=log)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = float(seconds.read_text()) if seconds.exists() else 0
    spent += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds.write_text(f"{spent}\n")
    last = Path(f"{place}.log").read_text().splitlines()[-1]
    if done.returncode != 0:
        raise ValueError(f"{place}.log: {last}")
    about = tables.measured("")
    return {**flags, **json.loads(last), "minutes": round(spent / 60, 2), "commit": os.environ.get("COMMIT", about.get("commit", "")),
            "cpu": about.get("cpu", "")}


def commit(flags):
    """Commits the results and the page that has them, and nothing else."""
    subprocess.run([HERE.parent / "tables.py"], check=True)
    subprocess.run(["git", "-C", HERE, "commit", "--quiet", "--message", f"Add a result of {flags['model']} on Nottingham", "--",
                    "rolls.json", "README.md"], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of the set")
    parser.add_argument("--list", action="store_true", help="print what is left, and train nothing")
    parser.add_argument("--commit", action="store_true", help="commit rolls.json and README.md after each training")
    flags = parser.parse_args()
    results = Results()
    if flags.list:
        for left in results.missing():
            print(*(f"--{name} {value}" for name, value in left.items()))
        return
    while left := next(results.missing(), None):
        print(left, flush=True)
        results.add(train(flags.folder, left))
        if flags.commit:
            commit(left)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"rolls.py: {error}")
