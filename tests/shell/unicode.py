#!/usr/bin/env python3
"""Trains char_lm, the program that the first argument names, on text that is not in ASCII, as bytes and as
characters."""

import os
import re
import sys

sys.dont_write_bytecode = True
from cases import Program, as_bytes, as_text, check, read, run, write

char_lm = Program(sys.argv[1])
TINY = "--n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 4 --eval_interval 4"
TEXT = "".join(f"Grüße, 10 €, 😀 {n % 7}\n" for n in range(200))
CHARACTERS, BYTES = len(TEXT), len(TEXT.encode())


def counts_bytes_or_characters():
    """As a token is one or the other."""
    write("text", TEXT)
    char_lm.runs(f"train {TINY} --data text --out_dir bytes")
    char_lm.runs(f"train {TINY} --data text --out_dir characters --vocab characters")
    scored = char_lm.runs("eval bytes --eval_split 1", f"^{BYTES - 1} tokens$")
    check("bits per byte" not in scored, "bits per byte beside those of bytes")
    scored = char_lm.runs("eval characters --eval_split 1", f"^{CHARACTERS - 1} tokens$")
    bits, per_byte = (float(re.search(f"([0-9.]+) bits per {unit}", scored)[1]) for unit in ("character", "byte"))
    check(abs(bits * (CHARACTERS - 1) / (BYTES - 1) - per_byte) < 1e-3, f"bits per byte: {scored}")
    char_lm.runs("eval characters --eval_split 1 --losses losses")
    check(read("losses").count("\n") == CHARACTERS - 1, "not a loss for each character")
    char_lm.runs("inspect bytes", "^vocabulary +[0-9]+ bytes$")
    char_lm.runs("inspect characters", "^vocabulary +[0-9]+ characters$")


def writes_whole_characters():
    written = char_lm.runs("generate characters --prompt 'Grüße €' --length 200 --temperature 2")
    check(len(written) == 7 + 200 + 1, f"not 200 characters: {written}")
    check(is_utf8(written), f"not UTF-8: {written!a}")
    written = char_lm.runs("generate characters --prompt G --length 500 --stop € --temperature 2")
    check(written.endswith("€\n"), f"not at its stop: {written}")
    written = char_lm.runs("generate bytes --prompt 'Grüße €' --length 60 --temperature 0")
    check(len(as_bytes(written)) == 11 + 60 + 1, f"not 60 bytes: {written!a}")


def is_utf8(text):
    return not re.search("[\udc80-\udcff]", text)


def writes_what_it_knows_by_heart():
    """Byte by byte, a model writes characters."""
    char_lm.runs("""train --data text --n_layer 2 --n_head 2 --n_embd 32 --block_size 32 --batch_size 8 --max_iters 400
        --learning_rate 1e-2 --eval_interval 400 --out_dir learnt""")
    written = char_lm.runs("generate learnt --checkpoint last --prompt '10 ' --length 200 --temperature 0")
    check(written.startswith("10 €, 😀 "), f"not learnt: {written!a}")


# --- What is unknown or no character is named.

REFUSED = [
    ("generate characters --prompt üé", "--prompt: the model does not know the character U+00E9 'é', number 2"),
    ("generate bytes --prompt Gé", "--prompt: the model does not know the character U+00E9 'é', number 3"),
    (f"train {TINY} --data latin --vocab characters --out_dir none",
     "latin: not UTF-8: 0xFC at offset 2; a vocabulary of bytes takes any text"),
    (f"train {TINY} --data text --val_data latin --vocab characters --out_dir none",
     "latin: not UTF-8: 0xFC at offset 2"),
    ("generate characters --prompt_file latin", "latin: not UTF-8: 0xFC at offset 2"),
    (f"train {TINY} --data text --vocab words", "--vocab words, expected bytes, all_bytes or characters"),
    ("train --init_from characters/last.safetensors --data text --vocab bytes --out_dir tuned",
     '--vocab "bytes": must stay "characters", as in characters/last.safetensors'),
]


def refuses():
    write("latin", as_text(b"Gr\xfc\xdfe"))
    char_lm.refuses_each(REFUSED)
    check(not os.path.exists("none"), "a folder for what was refused")


def keeps_its_vocabulary():
    char_lm.runs("train --resume --out_dir characters --max_iters 6")
    start = "--init_from characters/last.safetensors"
    char_lm.runs(f"train {start} --data text --max_iters 2 --batch_size 4 --out_dir tuned")
    char_lm.runs("inspect tuned", "^vocabulary +[0-9]+ characters$")
    # A checkpoint from before there was a choice has bytes.
    whole = read("bytes/best.safetensors")
    older = re.sub(r'\\"vocab\\":\\"bytes\\",', lambda found: " " * len(found[0]), whole)
    check(older != whole, "no vocab among the flags")
    os.mkdir("old")
    write("old/best.safetensors", older)
    first, second = (
        char_lm.runs(f"generate {name} --prompt Grüße --length 5 --temperature 0") for name in ("old", "bytes"))
    check(first == second, "an older checkpoint writes otherwise")


run(counts_bytes_or_characters, writes_whole_characters, writes_what_it_knows_by_heart, refuses, keeps_its_vocabulary)
