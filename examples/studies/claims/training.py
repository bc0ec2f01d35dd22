"""Makes the runs of a plan side by side, each unless it is there with its flags, and says how far all are."""

import glob
import os
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from study import PLACE, fail

PROGRAMS = {"char_lm": "CHAR_LM", "seq2seq": "SEQ2SEQ", "convolution": "CONVOLUTION", "restarted": "RESTARTED"}


def command(run, program, flags):
    """Of a flag that is there twice, the last value counts; all have one."""
    begin = [os.environ[PROGRAMS[program]]]
    if program in ("char_lm", "seq2seq"):
        begin += ["train", "--out_dir", f"{PLACE}/{run}", "--overwrite"]
    once = {"--threads": "1"} | dict(zip(flags[::2], flags[1::2], strict=True))
    return begin + [word for pair in once.items() for word in pair]


def make(run, program, flags):
    """Makes a run and keeps the processor time of its program."""
    for old in [f"{run}.done", f"scores/losses-{run}"]:
        (PLACE / old).unlink(missing_ok=True)
    for score in glob.glob(f"{PLACE}/scores/{glob.escape(run)}:*"):
        os.remove(score)
    if program in ("char_lm", "seq2seq"):
        shutil.rmtree(PLACE / run, ignore_errors=True)
    log = PLACE / f"{run}.log"
    with log.open("w") as output:
        process = subprocess.Popen(command(run, program, flags), stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        lines = log.read_text(errors="replace").splitlines() or [""]
        raise RuntimeError(f"{PLACE}/{run} failed: {lines[-1]}")
    (PLACE / f"{run}.seconds").write_text(f"{used.ru_utime + used.ru_stime:.3f}\n")
    (PLACE / f"{run}.done").write_text(" ".join([program, *flags]) + "\n")
    return run


def is_there(run, program, flags):
    done = PLACE / f"{run}.done"
    return done.exists() and done.read_text() == " ".join([program, *flags]) + "\n"


def train(plan):
    """Makes the runs {name: (program, flags)}, as many at a time as JOBS or the processors."""
    runs = {run: (program, shlex.split(flags)) for run, (program, flags) in sorted(plan.items())}
    missing = {run: what for run, what in runs.items() if not is_there(run, *what)}
    begun = time.monotonic()
    with ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count())) as pool:
        made = [pool.submit(make, run, *what) for run, what in missing.items()]
        for now, future in enumerate(as_completed(made), 1):
            try:
                run = future.result()
            except RuntimeError as error:
                pool.shutdown(cancel_futures=True)
                fail(error)
            left = len(missing) - now
            ready = len(runs) - left
            bar = "#" * (20 * ready // len(runs))
            minutes = (time.monotonic() - begun) / now * left / 60
            print(f"[{bar:.<20}] {ready} of {len(runs)} trainings, about {minutes:.0f} min left: {PLACE}/{run}",
                  file=sys.stderr)
