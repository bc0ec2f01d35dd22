#!/usr/bin/env python3
"""Gives char_lm and seq2seq, the programs that the arguments name, models whose weights or results are not finite: each
command that reports a result refuses it in one line."""

import re
import shutil
import sys

sys.dont_write_bytecode = True
from cases import Program, check, lines, run, write
from checkpoints import spoil

char_lm, seq2seq = map(Program, sys.argv[1:3])
SMALL = "--n_layer 1 --n_head 2 --n_embd 8 --batch_size 2 --warmup_iters 1 --max_iters 2 --eval_interval 2"


def declines(program, command, text, status=2):
    """It says nothing but one line that has this text in it, and no result."""
    done = program.fails(command, text, status=status)
    said = done.output + done.errors
    check(not re.search("-nan|nlohmann|json.exception", said), f"words of {command}: {said}")
    check("nan" not in done.output, f"a result of {command}: {done.output}")


def spoil_both(source, target, name, value):
    for file in "best", "last":
        spoil(f"{source}/{file}.safetensors", f"{target}/{file}.safetensors", name, value)


# --- Weights that are not finite.

COMMANDS = [
    "eval", "generate", "positions", "context", "report", "attention --text line", "attention --json --text line",
    "positions --json", "context --json", "eval --losses losses", "report run",
]
PAIR_COMMANDS = [
    "eval", "translate", "report", "attention --source 12", "attention --source 12 --json", "report pairs",
]


def declines_weights():
    write("text", lines(40))
    char_lm.runs(f"train {SMALL} --block_size 4 --data text --out_dir run")
    shutil.copytree("run", "spoiled")
    for value in "nan", "-nan", "inf", "-inf":
        spoil_both("run", "spoiled", "embedding.weight", float(value))
        for command in COMMANDS:
            declines(char_lm, f"{command} spoiled", "spoiled/best.safetensors: embedding.weight is not finite")
        declines(char_lm, "train --resume --out_dir spoiled --max_iters 3",
                 "spoiled/last.safetensors: embedding.weight is not finite")
        declines(char_lm, "train --init_from spoiled --data text --block_size 4 --batch_size 2 --out_dir new",
                 "spoiled/best.safetensors: embedding.weight is not finite")
        # Its content can be looked at.
        char_lm.runs("inspect spoiled")


def declines_weights_for_pairs():
    write("pairs.tsv", "".join(f"{n}\t{n * n}\n" for n in range(60)))
    seq2seq.runs(f"train {SMALL} --max_len 20 --data pairs.tsv --out_dir pairs")
    shutil.copytree("pairs", "bad")
    for value in "nan", "-inf":
        spoil_both("pairs", "bad", "encoder_norm.weight", float(value))
        for command in PAIR_COMMANDS:
            declines(seq2seq, f"{command} bad", "bad/best.safetensors: encoder_norm.weight is not finite")
        declines(seq2seq, "train --resume --out_dir bad --max_iters 3",
                 "bad/last.safetensors: encoder_norm.weight is not finite")


# --- Finite weights whose products are not: a program, a command, the status and what is said.

RESULTS = [
    (char_lm, "eval spoiled", 1, "evaluate: a mean loss of nan nats over "),
    (char_lm, "context spoiled", 1, "the loss: nan, expected a finite number"),
    (char_lm, "context --json spoiled", 1, "the loss: nan, expected a finite number"),
    (char_lm, "report spoiled", 1, "evaluate: a mean loss of nan nats over "),
    (char_lm, "generate spoiled", 1, ""),
    (char_lm, "attention --text line spoiled", 2, "an attention weight: nan, expected a finite number"),
    (char_lm, "attention --text line --json spoiled", 2, "an attention weight: nan, expected a finite number"),
    (seq2seq, "eval bad", 1, "expected"),
    (seq2seq, "attention --source 12 --target 144 bad", 2, "expected"),
    (seq2seq, "attention --source 12 --target 144 --json bad", 2, "expected"),
]


def declines_results():
    spoil("run/best.safetensors", "spoiled/best.safetensors", "blocks.0.mixer.qkv.weight", 3e38, every=True)
    spoil("pairs/best.safetensors", "bad/best.safetensors", "decoder.0.cross_attention.qkv.weight", 3e38, every=True)
    for program, command, status, text in RESULTS:
        declines(program, command, text, status)


def declines_losses():
    """One that is no number is no JSON."""
    shutil.copytree("run", "broken")
    write("broken/metrics.jsonl", '{"step":1,"loss":NaN}\n')
    declines(char_lm, "plot broken", "broken/metrics.jsonl: line 1: not JSON")
    write("broken/metrics.jsonl", '{"step":1,"loss":null,"validation_loss":null}\n')
    for command in "plot", "report":
        declines(char_lm, f"{command} broken", "broken/metrics.jsonl: has no finite loss")


run(declines_weights, declines_weights_for_pairs, declines_results, declines_losses)
