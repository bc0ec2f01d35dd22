#!/usr/bin/env python3
"""Checks that a model of char_lm, the program that the first argument names, can go on with characters that it did not
know, and with other lengths, and that what it knows stays as it was."""

import json
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True
from cases import Program, changed, check, lines, metrics, run, write
from checkpoints import read_checkpoint, weights

char_lm = Program(sys.argv[1])
SMALL = "--n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 2 --warmup_iters 1"
TEXT = lines(200)
GERMAN = f"{TEXT}Ein Satz: schön, 3 €.\n"


def train(flags):
    return char_lm.runs(f"train {changed(SMALL, flags)}")


def vocabulary(folder):
    return re.search("^vocabulary +(.*)$", char_lm.runs(f"inspect {folder}"), re.MULTILINE)[1]


def knows_all_bytes():
    """Whatever the text has."""
    write("text", TEXT)
    write("german", GERMAN)
    train("--data text --vocab all_bytes --out_dir bytes")
    char_lm.runs("inspect bytes", "^vocabulary +256 all_bytes$", r"^embedding.weight +\[256, 16\]")
    char_lm.runs("generate bytes --prompt 'schön €' --length 3")
    train("--init_from bytes --data german --out_dir bytes-on")


def takes_a_vocabulary():
    """That of a text, or of a run."""
    prepared = "--data text --vocab characters --vocab_from german --out_dir prepared"
    train(prepared)
    # The same command goes on with --resume, though the checkpoint has the whole path.
    train(f"{prepared} --lr_decay_iters 0 --resume")
    known = f"{len(set(GERMAN))} characters"
    check(vocabulary("prepared") == known, f"not {known}")
    char_lm.runs("generate prepared --prompt 'schön €' --length 3")
    for source in "prepared", "prepared/last.safetensors":
        train(f"--data text --vocab characters --vocab_from {source} --out_dir from-run --overwrite")
        check(vocabulary("from-run") == known, f"not {known} from {source}")


# --- With --add_characters, each unknown character gets rows of its own, and the others keep theirs.


def adds_characters():
    """One model has its embedding as output, the other one has both."""
    for vocab in "bytes", "characters":
        for tied in "true", "false":
            name = f"{vocab}-{tied}"
            kind = f"--vocab {vocab} --tie_embedding {tied}"
            train(f"--data text {kind} --out_dir {name}")
            # Without the flag, an unknown character is an error that names all of them and the way.
            char_lm.refuses(
                f"train --init_from {name} --data german --out_dir none",
                "german: the model does not know 13 characters: 'E', 'S', 'a', 't', 'z', ':', 's', 'c', 'h', ",
                "U+20AC '€'", "; --add_characters gives new characters rows of their own\n")
            train(f"--init_from {name} --data german --add_characters --max_iters 0 --out_dir {name}-more")
            train(f"--data german {kind} --max_iters 0 --out_dir {name}-new")
            check_rows(name)
            # What the old model knew is scored by the new one with a larger vocabulary, and it learns the rest.
            train(f"--init_from {name} --data german --add_characters --out_dir {name}-on")
            char_lm.runs(f"generate {name}-on --prompt 'schön €' --length 3")
            char_lm.runs(f"train --resume --out_dir {name}-on --max_iters 3")
    # Nothing new, and nothing is changed.
    train("--init_from characters-true --data text --out_dir same")
    train("--init_from characters-true --data text --add_characters --out_dir same-added")
    check(metrics("same") == metrics("same-added"), "a flag that adds nothing changes something")


def check_rows(name):
    """Those of characters that the old model knew are its own, the others those of a new model."""
    (facts, old), (more_facts, more), (new_facts, new) = (
        read_checkpoint(f"{file}.safetensors") for file in (f"{name}/best", f"{name}-more/last", f"{name}-new/last"))
    before, after, codes = (json.loads(each["vocabulary"]) for each in (facts, more_facts, new_facts))
    check(after == codes == sorted({*before, *codes}) and len(after) > len(before), f"vocabulary of {name}: {after}")
    check(weights(old).keys() == weights(more).keys() == weights(new).keys(), f"weights of {name}")
    larger = [weight for weight in weights(old) if old[weight] != more[weight]]
    check("embedding.weight" in larger and {weight.split(".")[0] for weight in larger} <= {"embedding", "output"},
          f"changed in {name}: {larger}")
    for weight in larger:
        check(more[weight][1] == [len(after), *old[weight][1][1:]], f"shape of {weight} in {name}")
        known, unknown = dict(zip(before, rows(old[weight]))), dict(zip(after, rows(new[weight])))
        check(rows(more[weight]) == [known.get(code, unknown[code]) for code in after], f"rows of {weight} in {name}")


def rows(tensor):
    _, (count, *_), values = tensor
    size = len(values) // count
    return [values[n * size:(n + 1) * size] for n in range(count)]


# --- Lengths are free where no weight depends on them.

FREE_LENGTHS = "--block_size 16", "--mem_len 5", "--mem_len 0", "--block_size 5 --mem_len 30"


def changes_lengths():
    for name, flags in [
        ("xl", "--model transformer_xl --mem_len 12"),
        ("rope", "--model transformer --position rope"),
        ("learned", "--model transformer"),
        ("labml", "--model labml"),
        ("wide", "--model labml --max_positions 40"),
    ]:
        train(f"--data text {flags} --out_dir {name}")
    begin_again("xl", "xl-on", "")
    check(lengths("xl-on") == ("8", "12"), f"other lengths: {lengths('xl-on')}")
    for flags in FREE_LENGTHS:
        begin_again("xl", "xl-on", f"--overwrite {flags}")
        shutil.copytree("xl", "xl-resumed")
        char_lm.runs(f"train --resume --out_dir xl-resumed --max_iters 4 {flags}")
        check(lengths("xl-on") == lengths("xl-resumed"), f"lengths of xl-resumed: {lengths('xl-resumed')}")
        char_lm.runs("eval xl-resumed --checkpoint last --data text")
        shutil.rmtree("xl-resumed")
    begin_again("rope", "rope-on", "--block_size 20")
    check(lengths("rope-on") == ("20", "0"), f"lengths of rope-on: {lengths('rope-on')}")
    begin_again("rope", "rope-memory", "--mem_len 4")
    begin_again("wide", "wide-on", "--block_size 10 --mem_len 20")
    # What cannot change when a run is resumed names the way, which works.
    begin_again("xl/last.safetensors", "faster", "--learning_rate 0.01")


def begin_again(start, folder, flags):
    char_lm.runs(f"train --init_from {start} --data text --max_iters 1 --batch_size 4 --out_dir {folder} {flags}")


def lengths(folder):
    printed = char_lm.runs(f"inspect {folder} --checkpoint last")
    return tuple(re.search(rf"^ *{name} +(\d+)$", printed, re.MULTILINE)[1] for name in ("block_size", "mem_len"))


# --- What is refused, and what is said.

REFUSED = [
    ("--data text --vocab all_bytes --vocab_from german --out_dir none",
     "--vocab_from: --vocab all_bytes has all bytes already"),
    ("--data text --vocab_from prepared --out_dir none", "--vocab bytes: expected characters, as in "),
    ("--data german --vocab_from text --out_dir none", "german: the model does not know 13 characters: "),
    ("--data german --vocab_from text --out_dir none", "; --vocab_from has to name all that the texts have\n"),
    ("--data text --vocab_from nowhere --out_dir none", "nowhere: No such file"),
    ("--data text --add_characters --out_dir none", "--add_characters: expected --init_from"),
    ("--resume --out_dir rope --mem_len 4 --max_iters 4",
     "--mem_len 4: must stay 0, as in rope/last.safetensors: it decides whether batches follow each other"),
    ("--init_from labml --data text --block_size 16 --out_dir none",
     "--block_size 16: must stay 8, as in labml/best.safetensors, whose weights depend on it"),
    ("--init_from labml --data text --mem_len 30 --out_dir none",
     "--mem_len 30: must stay 8, as in labml/best.safetensors, whose weights depend on it"),
    ("--resume --out_dir learned --block_size 16",
     "--block_size 16: must stay 8, as in learned/last.safetensors, whose weights depend on it"),
    ("--init_from learned --data text --block_size 16 --out_dir none",
     "--block_size 16: must stay 8, as in learned/best.safetensors, whose weights depend on it"),
    ("--resume --out_dir xl --learning_rate 0.01",
     "--learning_rate 0.01: must stay 0.001, as in xl/last.safetensors; a new run can change it: "),
    ("--resume --out_dir xl --learning_rate 0.01", "--init_from xl/last.safetensors --out_dir NEW_FOLDER\n"),
    ("--resume --out_dir xl --n_layer 2",
     "--n_layer 2: must stay 1, as in xl/last.safetensors, whose weights depend on it"),
]


def refuses():
    char_lm.refuses_each([(f"train {flags}", text) for flags, text in REFUSED])
    char_lm.runs("train --resume --out_dir rope --block_size 20 --max_iters 4")
    check(not os.path.exists("none"), "a refused command left its folder")


run(knows_all_bytes, takes_a_vocabulary, adds_characters, changes_lengths, refuses)
