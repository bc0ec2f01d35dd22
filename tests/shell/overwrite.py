#!/usr/bin/env python3
"""A run, by char_lm or seq2seq, the programs that the arguments name, is replaced only where that was asked for."""

import os
import shutil
import sys

sys.dont_write_bytecode = True
from cases import Program, changed, check, lines, read, run, write

char_lm, seq2seq = map(Program, sys.argv[1:3])
SMALL = "--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --warmup_iters 2 --eval_interval 2"


def replaces_no_run_of_char_lm():
    write("text", lines(300))
    replaces_no_run(char_lm, "text")


def replaces_no_run_of_seq2seq():
    write("pairs", "".join(f"{n * n:x}\t{n * n:o}\n" for n in range(300)))
    replaces_no_run(seq2seq, "pairs")


def replaces_no_run(program, data):
    folder, tiny = program.name, f"{SMALL} --data {data}"
    program.runs(f"train {tiny} --max_iters 6 --out_dir {folder}")
    for file in "best.safetensors", "last.safetensors", "metrics.jsonl":
        os.mkdir(f"{folder}-{file}")
        shutil.copy(f"{folder}/{file}", f"{folder}-{file}")
        for start in "", f"--init_from {folder}/best.safetensors":
            program.refuses(
                f"train {start} --data {data} --max_iters 2 --out_dir {folder}-{file}",
                f"--out_dir {folder}-{file}: already holds a run; --overwrite replaces it, --resume continues it")
    # The default folder is no exception.
    program.runs(f"train {tiny} --max_iters 2")
    program.refuses(f"train {tiny} --max_iters 2", "--out_dir out: already holds a run")
    shutil.rmtree("out")
    # What is wrong beside that is said first, and --resume is no new run.
    program.refuses(f"train {changed(tiny, '--data missing')} --out_dir {folder}", "missing: No such file")
    program.runs(f"train --resume --max_iters 8 --out_dir {folder}")
    program.refuses(f"train --resume --overwrite --out_dir {folder}", "--resume excludes --overwrite")
    replaces_wholly(program, folder, f"train {tiny} --overwrite")
    program.runs("train --help", "--overwrite")


def replaces_wholly(program, folder, train):
    """No best of the run before is left, and there may be nothing to replace."""
    program.runs(f"{train} --max_iters 0 --out_dir {folder}")
    left = sorted(os.listdir(folder))
    check(left == ["last.safetensors", "metrics.jsonl"], f"left of the run before: {left}")
    best = []
    for _ in range(2):
        program.runs(f"{train} --max_iters 2 --out_dir {folder}")
        best.append(read(f"{folder}/best.safetensors"))
    check(best[0] == best[1], "another run in a folder that had one")
    program.runs(f"{train} --max_iters 2 --out_dir new-{folder}")


def replaces_no_comparison():
    compare = f"compare {SMALL} --data text --max_iters 2 --seeds 1 --length 3 --out_dir compared"
    char_lm.runs(f"{compare} music_transformer transformer")
    char_lm.refuses(f"{compare} labml", "--out_dir compared: already holds a comparison; --overwrite replaces it")
    char_lm.runs(f"{compare} labml local_rnn --overwrite")
    os.remove("compared/comparison.csv")
    char_lm.refuses(f"{compare} aft music_transformer",
                    "--out_dir compared/music_transformer/1337: already holds a run; --overwrite replaces it")
    char_lm.runs(f"{compare} aft music_transformer --seed 1")


run(replaces_no_run_of_char_lm, replaces_no_run_of_seq2seq, replaces_no_comparison)
