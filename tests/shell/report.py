#!/usr/bin/env python3
"""Lets char_lm, the program that the first argument names, write reports of runs of all kinds, and refuse what it
cannot report."""

import os
import re
import signal
import sys

sys.dont_write_bytecode = True
from cases import Program, as_text, changed, check, check_report, lines, read, run, write

char_lm = Program(sys.argv[1])
TINY = """--data text --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 4 --warmup_iters 2
    --eval_interval 2 --log_interval 1"""
SMALL = "--n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4"
TEXT = lines(300).replace("\n", " <&></script>\n")
FLAGS = ("data,out_dir,log_interval,n_layer,n_head,n_embd,block_size,batch_size,max_iters,warmup_iters,"
         "eval_interval")
PARTS = "training sample distances context"

BYTES = as_text(b"bell\x07 high\xff")

# Names of runs, one of which means something to HTML, and what makes them other ones.
RUNS = {
    "xl": "",
    "vanilla": "--model transformer",
    "long": "--max_iters 8",
    "rnn": "--model local_rnn",
    "deep/<b>&amp; `x`": "--model labml",
    BYTES: "",
}


def train():
    write("text", TEXT)
    for name, flags in RUNS.items():
        char_lm.runs(f"train {changed(TINY, flags)} --out_dir '{name}'")


def report(runs, found, out="report.html"):
    """A report has what read_report.py finds in it."""
    char_lm.runs(f"report {runs} --out {out}", f"^wrote {out}$")
    check_report(found, out)


def reports_a_run():
    report("xl --tokens 20", f"runs=xl nothing=0 attention=1 metrics=xl/metrics.jsonl evaluations=xl/metrics.jsonl {PARTS} differ={FLAGS}")
    first = read("report.html")
    # The same runs make the same report, and it takes the place of an old one.
    char_lm.runs("report xl --tokens 20")
    check(read("report.html") == first, "two reports of one run differ")
    # Without a training, --follow makes a page as any other.
    report("xl --tokens 20 --follow", "", "again.html")
    check(read("again.html") == first, "a report that follows nothing differs")
    report("vanilla --tokens 20", "runs=vanilla", "again.html")


def reports_several_runs():
    """vanilla has no distances, rnn neither these nor attention."""
    report("xl vanilla rnn --tokens 20", f"runs=xl,vanilla,rnn nothing=3 attention=1 {PARTS}", "all.html")
    # Of runs of unequal length, the longer one is not the better one for that.
    best = min(("xl", "long"), key=loss_at_4)
    report("long xl --tokens 20", f"runs=long,xl shortest=4:{best}", "unequal.html")
    # Many runs stay below 3 MB.
    report("xl " * 40 + "--tokens 5 --length 20", "", "many.html")


def loss_at_4(folder):
    return float(re.search('"step":4,.*"validation_loss":(.*)}', read(f"{folder}/metrics.jsonl"))[1])


def scores_contexts_as_the_command_does():
    """Over 2,000 characters of a longer text."""
    write("long_text", "".join(f"{n * n}\n" for n in range(3000)))
    char_lm.runs(f"train --data long_text {SMALL} --max_iters 2 --warmup_iters 1 --eval_interval 2 --out_dir scored")
    measured = char_lm.runs("context scored --lengths 1,2,4,8,16 --json", '"characters": *2000')
    write("scored.json", measured)
    report("scored", "runs=scored scored=scored.json", "scored.html")


def shows_names_as_they_are():
    odd = "'deep/<b>&amp; `x`' --checkpoint last --text 'line 1 </' --prompt line --length 30 --tokens 20"
    char_lm.runs(f"report {odd} --out odd.html")
    check_report(f"'runs=<b>&amp; `x`' nothing=0 attention=1 {PARTS}", "odd.html")
    char_lm.runs(f"report '{BYTES}' --tokens 20 --out bytes.html")
    check_report(r"'runs=bell\x07 high\xFF'", "bytes.html")


def reports_without_the_text():
    """As far as it goes, on what the model wrote."""
    os.rename("text", "moved")
    report("xl", "runs=xl nothing=1 attention=1 sample distances", "alone.html")
    os.rename("moved", "text")


# --- With --follow a page goes on with a training.


PAGE = "goes_on.html"
FOLLOW = f"report goes_on --follow --tokens 20 --out {PAGE}"


def follows_a_training():
    """The page is whole at all times, and ends at a signal or with the training."""
    os.mkdir("training")
    training = char_lm.start(f"""train --data ../text {SMALL} --max_iters 10000000 --eval_interval 1000
        --log_interval 100 --out_dir ../goes_on""", "training")
    check(training.awaits(lambda: os.path.exists("goes_on/last.safetensors")), "no training")
    # A report may begin before the training has measured anything, or has a best checkpoint.
    follower = char_lm.start(FOLLOW)
    check(follower.awaits(lambda: os.path.exists(PAGE)), f"no page: {read('errors')}")
    check_report("runs=goes_on follows nothing=1 training sample distances", PAGE)
    check_changes(follower)
    done = follower.end(signal.SIGTERM)
    check(done.status == 143, f"status {done.status} of a report that was stopped: {done.errors}")
    check_report("runs=goes_on nothing=1 training sample distances", PAGE)

    follower = char_lm.start(FOLLOW)
    begins = follower.awaits(lambda: f"writes {PAGE} while the training goes on\n" in read("output"))
    check(begins, f"no word that the page follows: {read('errors')}")
    training.end(signal.SIGTERM)
    done = follower.end()
    check(done.status == 0, f"status {done.status} of a report whose training has ended: {done.errors}")
    check(done.output.endswith(f"wrote {PAGE}\n"), f"the last line of: {done.output}")
    check_report(f"runs=goes_on nothing=0 {PARTS}", PAGE)


def check_changes(follower):
    """The page becomes another one three times, and is whole whenever it is read."""
    torn = []

    def has_changed(before):
        page = read(PAGE)
        if not page.endswith("\n</html>\n"):
            torn.append(page)
        return page != before

    for _ in range(3):
        before = read(PAGE)
        check(follower.awaits(lambda: has_changed(before)), f"the page does not go on: {read('errors')}")
    check(not torn, "a page that is not whole")


# --- What cannot be reported, which changes no old report.

REFUSED = [
    ("report xl missing", "missing/best.safetensors: no such file"),
    ("report xl --out xl", "--out xl: expected the name of a file"),
    ("report xl --out no/report.html", "--out no/report.html: there is no folder"),
    ("report xl --text Line", "--text: the model does not know the character 'L', number 1"),
    ("report xl --prompt Line", "--prompt: the model does not know the character 'L', number 1"),
    ("report xl --length 0", "--length 0, expected at least 1"),
    ("report xl --tokens 0", "--tokens 0, expected at least 1"),
    ("report xl --checkpoint first", "--checkpoint first, expected best or last"),
    ("report xl vanilla --out all.html", "vanilla/metrics.jsonl: No such file"),
    ("report", "RUN"),
]


def refuses():
    os.remove("vanilla/metrics.jsonl")
    char_lm.refuses_each(REFUSED)
    char_lm.runs("report --help", "^Write a page about runs")


run(train, reports_a_run, reports_several_runs, scores_contexts_as_the_command_does, shows_names_as_they_are,
    reports_without_the_text, follows_a_training, refuses)
