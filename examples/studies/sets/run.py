#!/usr/bin/env python3
"""Works through the trainings of protocol.py, one at a time, each on one thread, and keeps the results.

    run.py FOLDER [--list] [--commit] [--last N]

FOLDER has the texts: ptb as sets.py writes it, chorales as ../bach/texts.py does with --transpose 6, and chorales_in_bars as it
does with --bars besides. Runs stay in a folder sets where the script is called. What results.json beside this script has is not
made again, and an unfinished training goes on from its last checkpoint, so the script can be stopped at any time; a SIGTERM or
SIGINT lets char_lm save one first. It ends when all is done, or when the trainings have taken as many hours as the protocol has.

--list prints what is left, and trains nothing. --commit commits results.json and the page whenever a rung is done. --last ends after N
trainings. --part makes those of one part alone. CHAR_LM and VARIANTS name the programs, and COMMIT the commit that they were built
from, by default that of this checkout.
"""

import argparse
import array
import fcntl
import hashlib
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import multiplications
from protocol import PARTS, flags_of
from results import HERE, Results, tables, words
import overlapping_blocks

EXAMPLES = HERE.parents[2] / "build/examples"
PROGRAMS = {"char_lm": os.environ.get("CHAR_LM", str(EXAMPLES / "apps/char_lm/char_lm")),
            "variants": os.environ.get("VARIANTS", str(EXAMPLES / "variants/variants"))}
PLACE = Path("sets")
RESULTS = HERE / "results.json"
DRAWN = 0.02  # the deviation from which char_lm draws embeddings


class Stopped(Exception):
    """A signal asked the script to end."""


class Programs:
    """Runs a program at a time, counts its processor time, and hands it the signal that ends this script."""

    def __init__(self):
        self.process = None
        self.signal = 0
        self.seconds = 0.0
        for each in signal.SIGTERM, signal.SIGINT:
            signal.signal(each, self.stop)

    def stop(self, number, frame):
        self.signal = number
        if self.process:
            self.process.send_signal(number)

    def run(self, command, log):
        """Returns the status of a command, whose words go to a file."""
        self.seconds = 0.0
        if self.signal:
            raise Stopped
        with open(log, "a") as output:
            # In a group of its own: a terminal's interrupt reaches it once, through stop().
            self.process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
            if self.signal:
                self.process.send_signal(self.signal)
            _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = used.ru_utime + used.ru_stime
        status, self.process = self.process.returncode, None
        if self.signal:
            raise Stopped
        return status


class Training:
    def __init__(self, texts, part, arm, rung, setting, seed):
        self.part, self.arm, self.rung, self.setting, self.seed = part, arm, rung, setting, seed
        self.program = PROGRAMS[part.program]
        self.texts = texts / (arm.text or part.text)
        self.flags = flags_of(part, arm, rung, setting, seed)
        place = arm.settings.index(setting)
        self.folder = PLACE / part.name / arm.name.replace(":", "-") / f"{rung.name}-{place + 1}-{seed}"
        self.log = Path(f"{self.folder}.log")

    def __str__(self):
        return f"{self.part.name} {self.arm.name}, {self.rung.name}, {self.setting}, seed {self.seed}"

    def command(self, folder, flags):
        return [self.program, "train", "--threads", "1", "--save_interval", "100", "--data", self.texts / "train.txt",
                "--val_data", self.texts / "valid.txt", *words(flags), "--out_dir", folder, "--overwrite"]

    def begun(self):
        """Whether there is a checkpoint of this training with these flags."""
        kept = Path(f"{self.folder}.flags")
        same = kept.exists() and kept.read_text() == json.dumps(self.flags)
        return same and (self.folder / "last.safetensors").exists()

    def begin(self, programs):
        """The command that begins the training, after its embeddings were drawn."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        for file in self.log, Path(f"{self.folder}.seconds"):
            file.unlink(missing_ok=True)
        Path(f"{self.folder}.flags").write_text(json.dumps(self.flags))
        if not self.setting.draw:
            return self.command(self.folder, self.flags)
        start = Path(f"{self.folder}.start")
        self.must(programs, self.command(start, self.flags | {"max_iters": "0"}))
        scale_embedding(start / "last.safetensors", self.setting.draw / DRAWN)
        return [*self.command(self.folder, self.flags), "--init_from", start / "last.safetensors"]

    def must(self, programs, command):
        if programs.run(command, self.log) != 0:
            raise ValueError(f"{self.log}: {self.log.read_text(errors='replace').splitlines()[-1]}")

    def train(self, programs):
        """Trains, or goes on. Returns whether all losses were finite."""
        command = [self.program, "train", "--resume", "--threads", "1", "--out_dir", self.folder]
        command = command if self.begun() else self.begin(programs)
        try:
            status = programs.run(command, self.log)
        finally:
            self.add_seconds(programs.seconds)
        if status == 0:
            return True
        last = self.log.read_text(errors="replace").splitlines()[-1]
        if "not finite" in last:
            return False
        raise ValueError(f"{self.log}: {last}")

    def add_seconds(self, more=0.0):
        """The processor time of all that this training took so far; what a machine lost on its end is not in it."""
        file = Path(f"{self.folder}.seconds")
        so_far = (float(file.read_text()) if file.exists() else 0.0) + more
        file.write_text(f"{so_far:.2f}\n")
        return so_far

    def best_validation(self):
        lines = map(json.loads, (self.folder / "metrics.jsonl").read_text().splitlines())
        return min(line["validation_loss"] for line in lines if "validation_loss" in line)

    def score(self, programs, split):
        """The score of the best checkpoint on a text: bits per character, or nats per note."""
        text = (self.texts / f"{split}.txt").read_bytes()
        if self.arm.by_memory:
            file = Path(f"{self.folder}.losses")
            self.must(programs, [self.program, "eval", self.folder, "--data", self.texts / f"{split}.txt", "--eval_split", "1",
                                 "--batch_size", "8", "--losses", file, "--threads", "1"])
            losses = [float(line) for line in file.read_text().split()]
            file.unlink()
        else:
            losses = overlapping_blocks.losses(self.program, self.folder, text, self.part.block, self.part.stride, 1)
        if self.part.notes:
            losses = [loss for note, loss in zip(text[1:], losses, strict=True) if note != ord("\n")]
        return sum(losses) / len(losses) / (1 if self.part.notes else math.log(2))

    def result(self, programs):
        finite = self.train(programs)
        last = self.part.rungs[-1]
        test = None
        valid = round(self.best_validation(), 5) if finite else None
        if finite and self.rung is last:
            valid, test = (round(self.score(programs, split), 5) for split in ("valid", "test"))
        checkpoint = self.folder / "last.safetensors"
        about = tables.measured("")
        return {
            "part": self.part.name, "arm": self.arm.name, "rung": self.rung.name, "setting": str(self.setting),
            "seed": self.seed, "valid": valid, "test": test, "minutes": round(self.add_seconds() / 60, 2),
            "parameters": multiplications.parameters(checkpoint) - self.arm.unread,
            "multiplications": multiplications.per_token(checkpoint, self.flags), "steps": self.rung.steps,
            "flags": " ".join(words(self.flags)), "commit": os.environ.get("COMMIT", about.get("commit", "")),
            "program": hashlib.sha256(Path(self.program).read_bytes()).hexdigest()[:12], "cpu": about.get("cpu", ""),
        }


def scale_embedding(checkpoint, factor):
    """Multiplies the embedding of a checkpoint, which draws it anew with another deviation."""
    content = bytearray(checkpoint.read_bytes())
    begin = 8 + int.from_bytes(content[:8], "little")
    first, last = json.loads(content[8:begin])["embedding.weight"]["data_offsets"]
    values = array.array("f", content[begin + first:begin + last])
    content[begin + first:begin + last] = array.array("f", [value * factor for value in values]).tobytes()
    checkpoint.write_bytes(content)


def commit(training):
    """Commits the results and the page that has them, and nothing else."""
    subject = f"Add results of {training.arm.name} on {training.part.name}, {training.rung.name}"
    subprocess.run([HERE.parent / "tables.py"], check=True)
    subprocess.run(["git", "-C", HERE, "commit", "--quiet", "--message", subject, "--", "results.json", "README.md"], check=True)


def next_left(results, flags):
    """The training to make next, if any is left for which there are hours."""
    wanted = (each for each in results.missing() if flags.part in ("", each[0].name))
    return next((each for each in wanted if results.hours() < each[0].hours), None)


def work(texts, flags, programs):
    """Makes one training after another."""
    made = 0
    results = Results(RESULTS)
    while (left := next_left(results, flags)) and made != flags.last:
        training = Training(texts, *left)
        print(f"{training} (after {results.hours():.1f} h)", flush=True)
        results.add(training.result(programs))
        made += 1
        after = next_left(results, flags)
        if flags.commit and (after is None or after[:3] != left[:3]):
            commit(training)
    print(f"{len(results.trainings)} trainings are there, {results.hours():.1f} h")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of the texts")
    parser.add_argument("--list", action="store_true", help="print what is left, and train nothing")
    parser.add_argument("--commit", action="store_true", help="commit results.json and README.md whenever a rung is done")
    parser.add_argument("--last", type=int, default=-1, metavar="N", help="end after N trainings")
    parser.add_argument("--part", default="", choices=[part.name for part in PARTS], help="make the trainings of this part alone")
    flags = parser.parse_args()
    if flags.list:
        for left in Results(RESULTS).missing():
            if flags.part in ("", left[0].name):
                print(Training(flags.folder, *left))
        return
    for name in {part.program for part in PARTS if flags.part in ("", part.name)}:
        if not os.access(PROGRAMS[name], os.X_OK):
            raise ValueError(f"{PROGRAMS[name]}: no such program; build it, or name it in {name.upper()}")
    PLACE.mkdir(exist_ok=True)
    with open(PLACE / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{PLACE}: another run.py works there") from None
        programs = Programs()
        try:
            work(flags.folder, flags, programs)
        except (Stopped, ValueError):
            if not programs.signal:
                raise
            sys.exit(128 + programs.signal)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"run.py: {error}")
