#!/usr/bin/env python3
"""Trains models on Bach's chorales with three seeds each, scores them on the validation chorales, and prints a table
in Markdown of nats per note.

    table.py FOLDER [MODEL…]

FOLDER has the train.txt and valid.txt of texts.py. The models are the configs in this folder, by default
music_transformer and sinusoid. Runs stay in the folder bach; one that is there already is not trained again, so the
script can be stopped at any time. The table is in bach/results.json, too. CHAR_LM names the program. TRAINING has flags
for all trainings, such as --max_iters 20000, and SCORING has flags for score.py, which says what counts. Minutes are
those of all processors together, as the system counts them.
"""

import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import notation

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tables  # noqa: E402

CHAR_LM = os.environ.get("CHAR_LM", str(HERE.parents[2] / "build/examples/apps/char_lm/char_lm"))
PLACE = Path("bach")
SEEDS = [1, 2, 3]
COLUMNS = ["", "parameters", {"title": "minutes", "form": "{:.1f}"}, {"title": "nats per note", "form": "{:.3f}"},
           {"title": "deviation", "form": "{:.3f}"}]
PAPER = [["absolute positions (Huang et al. 2018)", "", "", 0.417, ""],
         ["relative attention (Huang et al. 2018)", "", "", 0.357, ""],
         *(["more relations besides (Huang et al. 2018)", "", "", nats, ""] for nats in (0.351, 0.335))]


def checked(arguments):
    """The folder of texts and the models that the arguments name."""
    if not arguments:
        raise ValueError("no folder, expected: table.py FOLDER [MODEL…]")
    texts, *models = arguments
    for name in ("train", "valid"):
        if not os.access(f"{texts}/{name}.txt", os.R_OK):
            raise ValueError(f"{texts}/{name}.txt: cannot be read; texts.py writes it")
    if not shutil.which(CHAR_LM):
        raise ValueError(f"{CHAR_LM}: no such program; build it, or name it in CHAR_LM")
    known = sorted(path.stem for path in HERE.glob("*.json") if path.stem != "results")
    for model in models:
        if model not in known:
            raise ValueError(f"{model}: no such model, expected one of: {' '.join(known)}")
    return texts, models or ["music_transformer", "sinusoid"]


def train(model, texts):
    """Makes a run of this model for each seed, and a file with its seconds. What was begun is begun anew."""
    for seed in SEEDS:
        run = PLACE / f"{model}-{seed}"
        done = Path(f"{run}.done")
        if done.exists():
            continue
        print(f"training {run}", file=sys.stderr, flush=True)
        command = [CHAR_LM, "train", "--config", HERE / f"{model}.json", "--data", f"{texts}/train.txt", "--val_data",
                   f"{texts}/valid.txt", "--seed", str(seed), "--out_dir", run, "--overwrite"]
        process = subprocess.Popen(command + os.environ.get("TRAINING", "").split(), stdout=sys.stderr)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise ValueError(f"{run}: the training failed")
        done.write_text(f"{used.ru_utime + used.ru_stime:.3f}\n")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def row(model, texts):
    """Its parameters, the mean of its minutes and its scores, and the deviation of these."""
    inspected = output(CHAR_LM, "inspect", PLACE / f"{model}-1").splitlines()
    [parameters] = [int(line.split()[3]) for line in inspected if line.split()[:1] == ["total"]]
    scoring = os.environ.get("SCORING", "").split()
    runs = [PLACE / f"{model}-{seed}" for seed in SEEDS]
    nats = [float(output(HERE / "score.py", CHAR_LM, run, f"{texts}/valid.txt", *scoring)) for run in runs]
    seconds = [float(Path(f"{run}.done").read_text()) for run in runs]
    return [f"`{model}`", parameters, round(statistics.mean(seconds) / 60, 4), round(statistics.mean(nats), 6),
            round(statistics.stdev(nats), 6)]


def main():
    texts, models = checked(sys.argv[1:])
    PLACE.mkdir(exist_ok=True)
    for model in models:
        train(model, texts)
    table = {"columns": COLUMNS, "rows": [row(model, texts) for model in models] + PAPER}
    tables.keep(PLACE / "results.json", "_and_".join(models),
                {**tables.measured("examples/studies/bach/table.py"), **table})
    print(tables.table(table))


if __name__ == "__main__":
    notation.run(main)
