"""What --list prints of each claim: its trainings and scores, their time, and their commands."""

import os

from study import PLACE, RECIPE, TRANSLATING

# The command of each measure; `at_places` names its mode.
SCORES = {
    "bits": "char_lm eval OUT_DIR {flags}",
    "errors": "seq2seq eval OUT_DIR",
    "at_places": "char_lm eval OUT_DIR --mode {first} --tgt_len 64 --losses FILE",
    "copied": "char_lm eval OUT_DIR --losses FILE",
    "recl": f"char_lm context OUT_DIR… {os.environ['context_flags']}",
}


def scored(claim, plan):
    """The scores of the claim, each with its run."""
    return [(run, measure, flags) for run in plan for _, measure, name, flags in claim.scores
            if run.rpartition("-")[0] == name]


def seconds(program, flags):
    """The processor time of a training, as far as program and flags tell it.

    On one core of Zen 5, 600 steps of char_lm with four layers of 64 channels take some 11 seconds, and a training of
    the other programs as long.
    """
    result = 11
    if program == "char_lm":
        words = flags.split()
        values = dict(zip(words, words[1:]))
        for name, usual in {"--n_layer": 4, "--n_embd": 64, "--max_iters": 600}.items():
            result *= int(values.get(name, usual)) / usual
    return result


def cost(plan, scores):
    """How many trainings these are, and their time and that of the scores: a minute for a context, else a second."""
    total = sum(seconds(*what) for what in plan) + sum(60 if score[1] == "recl" else 1 for score in scores)
    return f"{len(plan)} trainings, about {total / 60 + 0.5:.0f} min of one core"


def commands(claim):
    """Those of the trainings and the scores, each once. OUT_DIR is the folder of each run in turn."""
    for program, flags in claim.trainings.values():
        for usual in (f"--data {os.environ['text']} {RECIPE}", RECIPE, TRANSLATING):
            flags = flags.replace(usual, "")
        words = flags.replace(f"{PLACE}/", "").split()
        name = {"restarted": "restarted_positions"}.get(program, program)
        yield " ".join([name, *(["train"] if program in ("char_lm", "seq2seq") else []), *words])
    yield from sorted({SCORES[measure].format(flags=" ".join(flags), first=flags[0] if flags else "").rstrip()
                       for _, measure, _, flags in claim.scores if measure in SCORES})


def lines(claims):
    yield f"Flags, unless a command has others: char_lm train --data TEXT {RECIPE}; seq2seq train {TRANSLATING}"
    trainings, scores = {}, {}
    for claim in claims:
        plan = claim.plan()
        found = scored(claim, plan)
        trainings |= plan
        scores |= dict.fromkeys(found)
        yield f"{claim.name}: {claim.title}"
        yield f"    {cost(plan.values(), found)}, decided by: {claim.comparisons[claim.decides][2]}"
        yield from (f"    {command}" for command in commands(claim))
    yield f"all: {cost(trainings.values(), scores)}, since claims share some"
