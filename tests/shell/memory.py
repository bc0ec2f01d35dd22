#!/usr/bin/env python3
"""Gives char_lm and seq2seq, the programs that the arguments name, more than the memory holds. Each says in one line
what was too large. A large file costs inspect no more memory than a small one, and a text of bytes costs a training as
much as it is long."""

import os
import re
import resource
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import Program, check, lines, run, write
from checkpoints import laid_out, read_checkpoint, write_safetensors

char_lm, seq2seq = map(Program, sys.argv[1:3])
TINY = "--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --max_iters 1 --warmup_iters 1"


def train():
    write("text", lines(100))
    char_lm.runs(f"train --data text --block_size 8 --out_dir run {TINY}")
    seq2seq.succeeds(f"train {TINY} --out_dir pairs")


def with_zeros(source, target, count):
    """Writes the checkpoint, or none, with one more tensor of so many zeros, of which the disk stores none. It is the
    trainer's, unless it is alone."""
    facts, tensors = read_checkpoint(source) if source else ({}, {})
    header, data = laid_out(tensors)
    header["trainer.zeros" if source else "zeros"] = {
        "dtype": "F32", "shape": [count], "data_offsets": [len(data), len(data) + 4 * count]}
    write_safetensors(target, {"__metadata__": facts, **header}, data)
    os.truncate(target, os.path.getsize(target) + 4 * count)


def inspects_in_little_memory():
    """128 MiB of values cost less than 16 MiB, whoever wrote the file."""
    for source in None, "run/last.safetensors", "pairs/best.safetensors":
        with_zeros(source, "small.safetensors", 10)
        with_zeros(source, "large.safetensors", 33554432)
        more = peak_of("inspect large.safetensors") - peak_of("inspect small.safetensors")
        check(more < 16384, f"inspect needs {more} KiB more for a large file of {source}")
    char_lm.runs("inspect large.safetensors")


def keeps_a_text_once():
    """A token takes the place of its byte."""
    def peak(name, size):
        write(name, "")
        os.truncate(name, size)
        return peak_of(f"train --data {name} --model aft --form simple --block_size 8 --eval_iters 1 --out_dir {name}.run {TINY}")
    more = peak("large_text", 129 << 20) - peak("small_text", 1 << 20)
    check(more < 1.2 * (128 << 10), f"a training needs {more} KiB for 128 MiB of text")


def peak_of(command):
    """The KiB that char_lm keeps in memory at most."""
    process = subprocess.Popen(char_lm.words(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    check(status == 0, f"{command}: status {status}")
    return used.ru_maxrss


# --- What writes, scores or begins anew reads nothing of the trainer's, however large that is.

LEAVE_THE_TRAINER = [
    *((char_lm, f"{command} vast.safetensors") for command in (
        "eval", "generate --length 3", "attention --text line", "convert --to bfloat16 --out_dir converted",
        "positions", "train --data text --max_iters 1 --out_dir begun --init_from")),
    *((seq2seq, f"{command} vast_pairs.safetensors")
      for command in ("eval", "train --max_iters 1 --out_dir begun_pairs --init_from")),
]

# --- Nothing dies of a failed allocation: a program, its command, and what its one line is.

WEIGHTS = r"the weights alone need more than [0-9.]+ GB of memory, and this process may have [0-9.]+ GB"
TOO_LARGE = [
    # A text that does not fit.
    (char_lm, "train --data vast --out_dir new", r"char_lm: [^ ]*vast: too large for the memory$"),
    (char_lm, "eval run --data vast", r"char_lm: [^ ]*vast: too large for the memory$"),
    (seq2seq, "train --data vast --out_dir new", r"seq2seq: [^ ]*vast: too large for the memory$"),
    # A model that does not fit.
    (char_lm, "train --data text --batch_size 1 --block_size 8 --n_embd 1000000 --n_head 2 --out_dir new",
     f"char_lm: {WEIGHTS}"),
    (char_lm, "compare --data text --n_embd 1000000 --n_head 2 --out_dir new transformer", f"char_lm: {WEIGHTS}"),
    (seq2seq, "train --n_embd 1000000 --n_head 2 --out_dir new", f"seq2seq: {WEIGHTS}"),
]


def reads_what_it_needs():
    with_zeros("run/best.safetensors", "vast.safetensors", 25000000000)
    with_zeros("pairs/best.safetensors", "vast_pairs.safetensors", 25000000000)
    for program, command in LEAVE_THE_TRAINER:
        program.succeeds(command, preexec_fn=limit_memory)


def says_what_is_too_large():
    write("vast", "")
    os.truncate("vast", 20 << 30)
    for program, command, line in TOO_LARGE:
        ends_in_little_memory(program, command, 2, line)
    check(not os.path.exists("new"), "a refused command left its folder")


def says_when_a_batch_is_too_large():
    """Which the training finds out."""
    write("zeros", "")
    os.truncate("zeros", 1 << 20)
    ends_in_little_memory(
        char_lm, """train --data zeros --model aft --form simple --n_embd 2048 --n_layer 1 --block_size 8192
            --batch_size 40 --eval_iters 1 --out_dir batch""", 1,
        r"char_lm: (a tensor of shape \[[\d, ]+\]: allocate: the system has no block of \d+ bytes; \d+ are in use|"
        r"train: too large for the memory); batch/last\.safetensors holds step 0$")


def ends_in_little_memory(program, command, status, line):
    done = program.ends(command, status, preexec_fn=limit_memory)
    check(re.match(line, done.errors), f"{command}: no '{line}' in: {done.errors}")
    check(not re.search("std::|bad_alloc", done.errors), f"words of a library: {done.errors}")


def limit_memory():
    """OpenBLAS reserves memory for each core."""
    most = (1500000 + 100000 * len(os.sched_getaffinity(0))) << 10
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


run(train, inspects_in_little_memory, keeps_a_text_once, reads_what_it_needs, says_what_is_too_large,
    says_when_a_batch_is_too_large)
