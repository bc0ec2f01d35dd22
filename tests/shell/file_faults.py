#!/usr/bin/env python3
"""Gives char_lm and seq2seq, the first two arguments, files that cannot be read or written and that are none. The third
is failing_reads, a library that lets reads fail; what needs it is left out without."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from cases import Program, as_text, changed, check, lines, read, run, write

char_lm, seq2seq = map(Program, sys.argv[1:3])
failing_reads = os.path.realpath(sys.argv[3]) if len(sys.argv) > 3 else None
SMALL = "--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --warmup_iters 2 --log_interval 1 --max_iters 4"
TINY = f"{SMALL} --block_size 8 --data text"
PAIRS = f"{SMALL} --max_len 20 --data pairs.tsv"
ROWS = "".join(f"{n}\t{n * n}\n" for n in range(300))
SOURCES = "".join(f"{n}\n" for n in range(300))
UNREAD = "cannot be read: Input/output error"
MARK = "\ufeff"


def train_both():
    write("text", lines(2000))
    write("pairs.tsv", ROWS)
    write("config.json", '{"n_layer": 1}')
    write("other", lines(1000))
    char_lm.runs(f"train {TINY} --out_dir run")
    seq2seq.runs(f"train {PAIRS} --out_dir lines")


# --- What cannot be read is not the end of a file.

# A program, its command, the file of which reads fail, and the byte from which on they do.
UNREADABLE = [
    (char_lm, f"train {TINY} --out_dir new", "text", 9000),
    (char_lm, f"train {TINY} --out_dir new", "text", 0),
    (char_lm, f"train {TINY} --val_data other --out_dir new", "other", 5000),
    (char_lm, "train --config config.json --out_dir new", "config.json", 9),
    (char_lm, f"compare transformer {TINY} --out_dir new", "text", 9000),
    (char_lm, "eval run", "text", 12000),
    (char_lm, "context run", "text", 12000),
    (char_lm, "train --resume --out_dir run", "text", 12000),
    (char_lm, "generate run --prompt_file other", "other", 5),
    (char_lm, "eval run", "run/best.safetensors", 1000),
    (char_lm, "generate run", "run/best.safetensors", 9000),
    (char_lm, "inspect run", "run/best.safetensors", 5),
    (char_lm, "plot run", "run/metrics.jsonl", 100),
    (seq2seq, "eval lines", "pairs.tsv", 1500),
]


def says_what_cannot_be_read():
    if not failing_reads:
        return
    for program, command, file, byte in UNREADABLE:
        program.refuses(command, f"{file}: {UNREAD}", env=failing(file, byte))
    check(not os.path.exists("new"), "a run was begun on part of a text")
    for byte in 0, 100:
        char_lm.fails("train --resume --out_dir run --max_iters 6", f"run/metrics.jsonl: {UNREAD}",
                      env=failing("run/metrics.jsonl", byte))
    for file in "text", "pairs.tsv":
        with open(file, "rb") as stdin:
            done = char_lm.run("generate run --prompt_file -", stdin, env=failing(file, 70))
        check(done.status == 2, f"status {done.status} where standard input cannot be read")
        check(f"standard input: {UNREAD}" in done.errors, f"standard input: {done.errors}")
    with open("pairs.tsv", "rb") as stdin:
        done = seq2seq.run("translate lines", stdin, env=failing("pairs.tsv", 0))
    check(done.status != 0, "standard input that cannot be read is translated")
    check("standard input: " in done.errors, f"standard input: {done.errors}")
    # A system that takes no byte and says that it did.
    done = char_lm.run(f"train {TINY} --out_dir unwritten", env=preloaded(TAKES_NOTHING="1"))
    text = "cannot be written: the system takes no byte more"
    check(text in done.errors, f"a system that takes no byte: {done.errors}")


def failing(file, byte):
    return preloaded(FAILING_FILE=file, FAILING_AFTER=str(byte))


def preloaded(**variables):
    return {**os.environ, "LD_PRELOAD": failing_reads, **variables}


def says_what_is_no_file():
    """One of the system begins with nothing readable, and a folder is none."""
    char_lm.refuses(f"train {changed(TINY, '--data /proc/self/mem')}", f"/proc/self/mem: {UNREAD}")
    char_lm.refuses(f"train {changed(TINY, '--data run')}", "run: a folder, expected a file")
    seq2seq.refuses(f"train {changed(PAIRS, '--data run')}", "run: a folder, expected a file")
    folder = os.open(".", os.O_RDONLY)
    done = char_lm.run("generate run --prompt_file -", folder)
    os.close(folder)
    check(done.status != 0, "a folder is no prompt")
    check("standard input: cannot be read: Is a directory" in done.errors, f"a folder: {done.errors}")


# --- What cannot be printed is an error, whatever prints it.

# What writes no files, and what does, which names a folder for each kind of standard output.
PRINTS = [
    (char_lm, "eval run"),
    (char_lm, "inspect run"),
    (char_lm, "generate run"),
    (char_lm, "generate run --length 0"),
    (char_lm, "--help"),
    (char_lm, "eval --help"),
    (seq2seq, "eval lines"),
    (seq2seq, "translate lines"),
]
WRITES = [
    (char_lm, f"train {TINY} --out_dir unprinted_{{}}"),
    (char_lm, f"compare transformer labml {TINY} --out_dir compared_{{}} --seeds 1 --length 1"),
    (char_lm, "context run --tokens 9"),
    (seq2seq, f"train {PAIRS} --out_dir unprinted_lines_{{}}"),
]


def says_what_cannot_be_printed():
    """What has files to write goes on, whether the signal of a pipe is ignored or not."""
    for where in (["full"] if os.path.exists("/dev/full") else []) + ["closed", "pipe"]:
        for program, command in PRINTS + WRITES:
            cannot_print(program, command.format(where), where)
    for program, command in WRITES:
        cannot_print(program, command.format("broken"), "broken")
    # What was to be written is whole all the same, and no file was taken for the closed output.
    for where in "closed", "pipe", "broken":
        char_lm.runs(f"eval unprinted_{where}")
        seq2seq.runs(f"eval unprinted_lines_{where}")
    cannot_print(char_lm, "eval run --losses losses", "closed")
    check(re.fullmatch(r"([0-9.]+\n)+", read("losses")), f"losses: {read('losses')}")


def cannot_print(program, command, where):
    """It has status 1 and one line where standard output is full, closed, or a pipe whose reader has gone, where that
    is ignored, or `broken`, where it is not."""
    if where == "full":
        output = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, output = os.pipe()
        os.close(reader)
    done = subprocess.run(
        program.words(command), stdout=output, stderr=subprocess.PIPE, input=SOURCES.encode(),
        preexec_fn={"closed": lambda: os.close(1), "pipe": ignore_pipes}.get(where))
    os.close(output)
    check(done.returncode == 1, f"status {done.returncode} of {command} with a standard output that is {where}")
    check(as_text(done.stderr) == f"{program.name}: standard output: cannot be written\n",
          f"{command} with a standard output that is {where}: {done.stderr}")


def ignore_pipes():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


# --- A pipe in the place of a file.


class Through:
    """Writes a text into the pipe `pipe` while something reads it."""

    def __init__(self, text):
        self.writer = threading.Thread(target=write, args=("pipe", text))

    def __enter__(self):
        self.writer.start()

    def __exit__(self, *_):
        self.writer.join()


def reads_what_comes_through_a_pipe():
    os.mkfifo("pipe")
    text = read("text")
    with Through(text):
        char_lm.runs(f"train {changed(TINY, '--data pipe --out_dir piped')}")
    char_lm.runs(f"train {changed(TINY, '--data /dev/stdin --out_dir piped_in')}", stdin=text)
    for part in "best", "last":
        expected = described(f"run --checkpoint {part}")
        for folder in "piped", "piped_in":
            check(described(f"{folder} --checkpoint {part}") == expected, f"{folder} is not the run of a file")
    with Through(ROWS):
        seq2seq.runs("eval lines --data pipe")
    with Through("line\n"):
        char_lm.runs("generate run --prompt_file pipe --length 2")


def described(folder):
    """What inspect says of a run, but for the names of files."""
    shown = char_lm.runs(f"inspect {folder}").splitlines()[1:]
    return [line for line in shown if not re.search("^  data |out_dir", line)]


def refuses_a_pipe_without_waiting():
    """Where a file is kept, it does not wait for the other end."""
    shutil.copytree("run", "waiting")
    for file in "best.safetensors", "last.safetensors", "metrics.jsonl":
        os.remove(f"waiting/{file}")
        os.mkfifo(f"waiting/{file}")
    resumes = "train --resume --out_dir waiting"
    for command in "eval waiting", "inspect waiting", "generate waiting", "context waiting":
        char_lm.refuses(command, "waiting/best.safetensors: is not a regular file")
    char_lm.refuses("plot waiting", "waiting/metrics.jsonl: is not a regular file")
    char_lm.refuses(resumes, "waiting/last.safetensors: is not a regular file")
    os.remove("waiting/last.safetensors")
    shutil.copy("run/last.safetensors", "waiting")
    char_lm.fails(resumes, "waiting/metrics.jsonl: is not a regular file")


# --- The byte order mark before a text is no letter of it.


def reads_over_a_byte_order_mark():
    write("marked_text", MARK + read("text"))
    write("marked_prompt", MARK + "line")
    write("marked.json", MARK + '{"n_layer": 1}')
    for units in "bytes", "characters":
        for name, data in ("plain", "text"), ("marked", "marked_text"), ("both", "marked_text --val_data marked_text"):
            char_lm.runs(f"train {changed(TINY, f'--data {data}')} --vocab {units} --out_dir {name}_{units}")
        check(described(f"plain_{units}") == described(f"marked_{units}"), f"a byte order mark among the {units}")
    prompted = char_lm.runs("generate run --prompt_file marked_prompt --length 0")
    check(prompted == "line\n", f"the prompt with a mark: {prompted}")
    prompted = char_lm.runs("generate run --prompt_file - --length 0", stdin=MARK + "line")
    check(prompted == "line\n", f"the prompt with a mark from standard input: {prompted}")
    char_lm.runs(f"train {TINY} --config marked.json --out_dir configured")


def reads_over_a_mark_before_pairs():
    write("marked_pairs.tsv", MARK + ROWS)
    seq2seq.runs(f"train {changed(PAIRS, '--data marked_pairs.tsv')} --out_dir marked_lines")
    for folder in "lines", "marked_lines":
        seq2seq.runs(f"eval {folder} --data pairs.tsv --predictions {folder}.predictions")
    check(read("lines.predictions") == read("marked_lines.predictions"), "a byte order mark among the pairs")
    seq2seq.runs("eval lines --data marked_pairs.tsv")
    seq2seq.runs("translate lines", stdin=MARK + "0\n1\n2\n")


def refuses_a_line_as_long_as_a_disk():
    """When it was read."""
    long = "1" * 5000000
    seq2seq.fails("translate lines", "standard input: line 1: 5000000 tokens, but the model takes at most 20",
                  stdin=f"{long}\n")
    write("long.tsv", f"{long}\t1\n")
    seq2seq.refuses("eval lines --data long.tsv", "long.tsv: line 1: ")


# What never ends is ended when it has taken two minutes of CPU time.
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
run(train_both, says_what_cannot_be_read, says_what_is_no_file, says_what_cannot_be_printed,
    reads_what_comes_through_a_pipe, refuses_a_pipe_without_waiting, reads_over_a_byte_order_mark,
    reads_over_a_mark_before_pairs, refuses_a_line_as_long_as_a_disk)
