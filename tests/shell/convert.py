#!/usr/bin/env python3
"""Checks that char_lm, the program that the first argument names, converts a trained model to another kind that
computes the same and trains on, and refuses what it cannot convert."""

import json
import os
import re
import struct
import sys

sys.dont_write_bytecode = True
from cases import Program, check, lines, read, run, write
from checkpoints import change_type, read_checkpoint, weights

char_lm = Program(sys.argv[1])
TINY = """--data text --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --warmup_iters 2
    --eval_interval 20 --eval_iters 2 --learning_rate 1e-2"""


def losses(command):
    """The loss of each character."""
    char_lm.runs(f"eval {command} --losses losses")
    return [float(loss) for loss in read("losses").split()]


def mean(numbers):
    return sum(numbers) / len(numbers)


def are_near(one, other):
    """The same numbers, but for the last digits of floats."""
    return len(one) == len(other) and all((a - b) ** 2 <= 3e-11 for a, b in zip(one, other))


# --- What computes the same in another kind: a name, the kind, and the flags of the model.

CONVERTED = [
    ("labml", "transformer_xl", "--model labml --max_positions 20 --dropout 0.1"),
    ("music", "transformer_xl", "--model music_transformer --max_seq 6 --norm_first false"),
    ("shaw", "transformer_xl", "--model shaw --max_distance 3 --value_positions false --mem_len 8"),
    ("local", "aft_full", "--model aft --window 3"),
    ("thin", "aft_full", "--model aft --form full --factor_rank 2 --position sinusoid"),
]


def converts():
    write("text", lines(400))
    for name, kind, flags in CONVERTED:
        char_lm.runs(f"train {TINY} {flags} --max_iters 40 --out_dir {name}")
        printed = char_lm.runs(f"convert {name} --to {kind} --out_dir {name}-new")
        check(printed == f"{name}-new/best.safetensors\n{name}-new/last.safetensors\n", f"convert printed: {printed}")
        check_same(name, f"{name}-new", "chunks" if kind == "aft_full" else "memory")
        trains_on(name)
    char_lm.runs("train --init_from thin-new --factor_rank 0 --data text --batch_size 4 --max_iters 1 --out_dir thin-1")
    char_lm.runs("inspect labml-new", "^  mixer.max_positions +21$", "^  mixer.window +21$",
                 "^  projection_bias +true$")


def check_same(one, other, memory):
    """They give each character the same loss, in all ways to score that the kind of model has, and write the same
    text."""
    for flags in ("--mode chunks", "--mode chunks --checkpoint last", f"--mode {memory} --mem_len 5",
                  f"--mode {memory} --tgt_len 1"):
        check(are_near(losses(f"{one} {flags}"), losses(f"{other} {flags}")), f"{one} and {other} differ with {flags}")
    check(char_lm.score(one) == char_lm.score(other), f"{other} is scored otherwise")
    text, other_text = (
        char_lm.runs(f"generate {name} --prompt 'line ' --length 100 --temperature 0") for name in (one, other))
    check(text == other_text, f"{other} writes another text")


def trains_on(name):
    char_lm.runs(f"""train --init_from {name}-new --data text --eval_iters 2 --batch_size 4 --eval_interval 5
        --max_iters 20 --learning_rate 1e-2 --out_dir {name}-on""")
    course = [float(loss) for loss in re.findall('"train_loss":([0-9.]+)', read(f"{name}-on/metrics.jsonl"))]
    check(course[-1] < course[0], f"{name}-on does not learn: {course}")
    char_lm.runs(f"generate {name}-on --length 5")
    char_lm.refuses(f"train --resume --max_iters 60 --out_dir {name}-new",
                    f"{name}-new/last.safetensors: has no training state to continue from")


# --- In bfloat16 the run, its score and its text are there, but neither a state to resume from nor the places of texts.


def rounds_weights():
    """Each to nearest, ties to even."""
    char_lm.runs("convert labml --to bfloat16 --out_dir rounded")
    (before, floats), (after, halves) = map(read_checkpoint, ("labml/best.safetensors", "rounded/best.safetensors"))
    floats = weights(floats)
    check(floats and halves.keys() == floats.keys(), f"other weights: {halves.keys()}")
    for name, (_, shape, values) in floats.items():
        wide = struct.unpack(f"<{len(values) // 4}I", values)
        rounded = "BF16", shape, struct.pack(f"<{len(wide)}H", *map(nearest, wide))
        check(halves[name] == rounded, f"{name} in bfloat16")
    training = json.loads(after.pop("training"))
    check(training["data"] == training["val_data"] == "" and training["out_dir"] == "rounded", f"texts: {training}")
    check(training["texts_left_out"] is True, f"texts: {training}")
    del before["training"]
    check(after == before, f"other facts: {after}")


def nearest(bits):
    """The 16 bits of a bfloat16 nearest to the 32 of a float."""
    low, high = bits >> 16, (bits >> 16) + 1
    below, above = bits - (low << 16), (high << 16) - bits
    return low if below < above or below == above and low % 2 == 0 else high


def computes_with_rounded_weights():
    """Rounded again, nothing changes. The text that was left out is not the one that a run without --data has."""
    char_lm.runs("convert rounded --to bfloat16 --out_dir again")
    for name in "rounded", "again":
        char_lm.refuses(f"eval {name}",
                        f"{name}/best.safetensors: does not say where its text is; --data names one to score")
    floats, rounded, again = (losses(f"{name} --data text --mode memory") for name in ("labml", "rounded", "again"))
    check(rounded == again, "rounded again, it computes something else")
    check(0 < (mean(floats) - mean(rounded)) ** 2 < 1e-4, f"{mean(floats)} and {mean(rounded)}")
    char_lm.runs("generate rounded --prompt 'line ' --length 20")
    total = re.search("^total +[0-9]+ tensors +[0-9]+ ", char_lm.runs("inspect labml"), re.MULTILINE)[0]
    char_lm.runs("inspect rounded", f"^{total}")
    char_lm.runs("convert rounded --to transformer_xl --out_dir rounded-xl")
    check(are_near(rounded, losses("rounded-xl --data text --mode memory")), "rounded-xl computes something else")
    char_lm.refuses("train --resume --data text --max_iters 60 --out_dir rounded",
                    "rounded/last.safetensors: has no training state to continue from")


def reads_other_floats():
    """Weights in F16 and F64, as other programs write them, are read as those in BF16 are."""
    scores = {"F32": losses("labml --data text --mode memory")}
    for dtype in "F16", "F64":
        file = f"of-{dtype}.safetensors"
        change_type("labml/best.safetensors", file, dtype)
        scores[dtype] = losses(f"{file} --data text --mode memory")
        char_lm.runs(f"generate {file} --prompt 'line ' --length 20")
        char_lm.runs(f"inspect {file}", rf"^blocks.0.mixer.qkv.weight  +\[48, 16\]  +{dtype}  +768 ")
        char_lm.runs(f"train --init_from {file} --data text --batch_size 4 --max_iters 1 --out_dir from-{dtype}")
        char_lm.runs(f"convert {file} --to bfloat16 --out_dir again-{dtype}")
    check(scores["F64"] == scores["F32"], "weights in F64 that floats can hold compute something else")
    check((mean(scores["F16"]) - mean(scores["F32"])) ** 2 < 1e-6, "weights in F16 compute something else")
    rounded, again = (losses(f"{name} --data text --mode memory") for name in ("rounded", "again-F64"))
    check(rounded == again, "F64 is rounded to BF16 otherwise")


def converts_a_file():
    """One alone becomes the best checkpoint, whichever it was."""
    char_lm.runs("convert labml/last.safetensors --to transformer_xl --out_dir last")
    check(os.listdir("last") == ["best.safetensors"], f"of a file: {os.listdir('last')}")
    char_lm.runs("eval last")
    char_lm.runs("convert last/best.safetensors --help", r"transformer_xl\|aft_full\|bfloat16")


# --- What cannot be converted, and why.

OTHERS = {
    "transformer": "transformer",
    "xl": "transformer_xl",
    "shaw": "shaw",
    "r_transformer": "r_transformer",
    "simple": "aft --form simple",
    "sinusoid": "music_transformer --position sinusoid",
}

TO_XL = "--to transformer_xl --out_dir new"

REFUSED = [
    (f"of-simple {TO_XL}", "of-simple/best.safetensors: to_transformer_xl: aft, expected attention"),
    (f"of-transformer {TO_XL}",
     "of-transformer/best.safetensors: adds learned positions to its embeddings, which --model transformer_xl does "
     "not"),
    (f"of-shaw {TO_XL}",
     "of-shaw/best.safetensors: shaw_attention: has embeddings of distances for values, but "
     "transformer_xl_attention has none"),
    (f"of-r_transformer {TO_XL}",
     "of-r_transformer/best.safetensors: to_transformer_xl: r_transformer_block, expected transformer_block"),
    (f"of-sinusoid {TO_XL}",
     "of-sinusoid/best.safetensors: adds sinusoid positions to its embeddings, which --model transformer_xl does not"),
    ("of-simple --to aft_full --out_dir new", "of-simple/best.safetensors: aft: reads texts of any length"),
    (f"of-xl {TO_XL}",
     "of-xl/best.safetensors: transformer_xl_attention: has terms for any distance, expected a window"),
    ("labml --to transformer_xl --out_dir music-new",
     "--out_dir music-new: already holds a run, expected a new folder"),
    (f"nowhere {TO_XL}", "nowhere: no such file"),
    ("labml --to transformer_xl --out_dir text", "--out_dir text"),
    (f"empty {TO_XL}", "empty: holds no checkpoint"),
    ("labml --to shaw --out_dir new", "--to"),
    ("labml --out_dir new", "--to"),
    ("labml --to transformer_xl", "--out_dir"),
]


def refuses_what_it_cannot_convert():
    for name, model in OTHERS.items():
        char_lm.runs(f"train {TINY} --model {model} --max_iters 1 --out_dir of-{name}")
    os.mkdir("empty")
    char_lm.refuses_each([(f"convert {flags}", text) for flags, text in REFUSED])
    check(not os.path.exists("new"), "a refused conversion left its folder")


run(converts, rounds_weights, computes_with_rounded_weights, reads_other_floats, converts_a_file,
    refuses_what_it_cannot_convert)
