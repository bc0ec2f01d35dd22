#!/usr/bin/env python3
"""Gives char_lm, seq2seq and show_layer, the programs that the arguments name, names and texts of any bytes: files,
folders and characters that are not UTF-8, links to nothing, and - for a file."""

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import NOBODY, Program, as_bytes, as_text, check, read, run, write
from checkpoints import read_checkpoint

char_lm, seq2seq, show_layer = map(Program, sys.argv[1:4])
SMALL = "--n_layer 1 --n_head 2 --n_embd 8 --batch_size 2 --warmup_iters 1 --max_iters 2 --eval_interval 2"
TINY = f"{SMALL} --block_size 4"
PAIRS = f"{SMALL} --max_len 20"
TEXT = "".join(f"café {n * n % 100}\n" for n in range(40))

# Bytes that are no UTF-8, as Python has them in names.
NAME = as_text(b"g\xe9n.txt")
FOLDER = as_text(b"r\xe9n")


def takes_names_that_are_no_utf8():
    """What has such a name is trained on, resumed, found again and drawn."""
    write("text", TEXT)
    write(NAME, TEXT)
    char_lm.runs(f"train {TINY} --data {NAME} --val_data {NAME} --out_dir {FOLDER}")
    char_lm.runs(f"train --resume --out_dir {FOLDER} --max_iters 3")
    char_lm.runs(f"train --resume --out_dir {FOLDER} --data {NAME} --max_iters 4")
    char_lm.runs(f"eval {FOLDER}")
    char_lm.runs(f"train --init_from {FOLDER} --data {NAME} --batch_size 2 --max_iters 0 --out_dir tuned")
    char_lm.runs(f"inspect {FOLDER}", r"^  data +.*/g\\xE9n\.txt$", r"^  out_dir +r\\xE9n$")
    char_lm.runs(f"report {FOLDER} --tokens 4 --out report.html")
    check(r"g\xE9n.txt" in read("report.html"), "the report does not name the text")
    os.rename(FOLDER, "moved")
    char_lm.runs("eval moved")
    os.rename("moved", FOLDER)
    write(f"{FOLDER}/flags", '{"data": "text", "batch_size": 2}')
    flags = TINY.replace("--batch_size 2 ", "")
    char_lm.runs(f"train {flags} --config {FOLDER}/flags --out_dir configured")


def gets_the_bytes_of_a_name_back():
    """The file has UTF-8, in which each other byte stands as a character for private use."""
    facts, _ = read_checkpoint(f"{FOLDER}/last.safetensors")
    data = json.loads(facts["training"])["data"]
    name = b"".join(bytes([ord(c) - 0x10F700]) if 0x10F780 <= ord(c) <= 0x10F7FF else c.encode() for c in data)
    check(os.path.basename(name) == os.fsencode(NAME), f"the name in the checkpoint: {name}")
    check(os.path.samefile(name, os.fsencode(NAME)), f"the file of the name in the checkpoint: {name}")


def prints_whole_json():
    """It has every byte."""
    for command, text in [
        (f"attention {FOLDER} --text café --json", '["c", "a", "f", "\U0010f7c3", "\U0010f7a9"]'),
        (f"plot {FOLDER} tuned/../configured --json", "r\U0010f7e9n"),
        (f"context {FOLDER} --json --tokens 2 --lengths 1,2", "r\U0010f7e9n"),
        (f"positions {FOLDER} --json", '"trained"'),
    ]:
        printed = char_lm.runs(command)
        check(printed.count("\n") == 1, f"not one line of JSON: {printed}")
        check(text in json.dumps(json.loads(printed), ensure_ascii=False), f"no {text} in: {printed}")


def is_so_with_pairs():
    write(f"{FOLDER}/pairs", "".join(f"{n}\t{n * n}\n" for n in range(60)))
    seq2seq.runs(f"train {PAIRS} --data {FOLDER}/pairs --out_dir {FOLDER}/out")
    seq2seq.runs(f"train --resume --out_dir {FOLDER}/out --max_iters 3")
    seq2seq.runs(f"eval {FOLDER}/out")
    seq2seq.refuses_each([
        (f"train {PAIRS} --data - --out_dir new",
         "--data -, expected the name of a file; standard input is not read here"),
        (f"train {PAIRS} --data text --data {NAME}", "--data: given 2 times, expected one value"),
    ])
    seq2seq.runs("train --help", r"^  --skip_bad_rows \[BOOL\]=false$")


def is_so_with_layers():
    show_layer.refuses(as_text(b"multi_head_attention:\xe9=1"), "unknown config key")
    done = show_layer.run(as_text(b"aft:form=\xe9"))
    check(done.status != 0, "show_layer takes any form")
    check(not re.search("json|type_error", done.errors), f"words of a library: {done.errors}")


# --- What is refused leaves no folder.


def leaves_no_folder():
    write("short", "short")
    os.mkdir("kept")
    os.symlink("nowhere", "link")
    char_lm.refuses_each([
        ("train --data short --out_dir new/sub", "short: "),
        ("train --data short --out_dir kept", "short: "),
        (f"compare {TINY} --data text aft --parameters 1 --out_dir new", "aft: --parameters 1 is too few"),
        (f"train {TINY} --data text --out_dir link", "--out_dir link: a symbolic link to a folder that does not exist"),
        (f"train {TINY} --data text --out_dir text", "--out_dir text: a file, expected a folder"),
        (f"train {TINY} --data text --out_dir ''", "--out_dir : expected the name of a folder"),
    ])
    check(os.path.isdir("kept"), "a folder that was there is gone")
    done = char_lm.run(f"train {TINY} --data text --out_dir new/sub", preexec_fn=may_write_no_file)
    check(done.status != 0, "a training without files")
    check(not os.path.exists("new"), "a refused command left its folder")


def may_write_no_file():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


# --- A dash is no file, but for the one that says so.


def takes_a_dash_for_no_file():
    write("flags.json", '{"data": "-"}')
    for flag in "data", "val_data", "config":
        char_lm.refuses(f"train {TINY} --{flag} -",
                        f"--{flag} -, expected the name of a file; standard input is not read here")
    char_lm.refuses(f"eval {FOLDER} --data -", "--data -, expected the name of a file", stdin=TEXT)
    char_lm.refuses(f"eval {FOLDER} --losses -", "--losses -, expected the name of a file")
    char_lm.refuses("train --config flags.json",
                    'flags.json: training flag "data" is "-", expected the name of a file')
    write("prompt", "caf")
    char_lm.runs(f"generate {FOLDER} --prompt_file prompt --length 1")
    char_lm.runs(f"generate {FOLDER} --prompt_file - --length 1", stdin="caf")
    write("-", TEXT)
    char_lm.runs(f"train {TINY} --data ./- --out_dir dashed")


# --- A picture that cannot be written says why, before anything is drawn.


def says_why_a_picture_cannot_be_written():
    os.chmod(".", 0o755)
    os.mkdir("closed")
    os.chmod("closed", 0o555)
    subprocess.run(["chmod", "-R", "a+rX", "."], check=True)
    if char_lm.is_for(NOBODY):
        for command in (f"report {FOLDER}", f"plot {FOLDER}", f"attention {FOLDER} --text café", f"positions {FOLDER}",
                        f"context {FOLDER} --tokens 2"):
            done = char_lm.run(f"{command} --out closed/picture", **NOBODY)
            expected = "char_lm: --out closed/picture: its folder cannot be written: Permission denied\n"
            check((done.status, done.output, done.errors) == (2, "", expected), f"{command}: {done.errors}")
    char_lm.refuses(f"plot {FOLDER} --out no/picture", "--out no/picture: there is no folder no")
    name = "0" * 300
    char_lm.refuses(f"plot {FOLDER} --out {name}/x", f"--out {name}/x: File name too long")


# --- Many lines end with CR LF, which a terminal shows as ends of lines.


def on_terminal(command):
    return subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, stdin=subprocess.DEVNULL)


def ends_lines_on_a_terminal():
    if on_terminal("true").returncode:
        return
    write("crlf", TEXT.replace("\n", "\r\n"))
    char_lm.runs(f"train {TINY} --data crlf --out_dir crlf_run")
    prompt = "café 1\r\ncafé 4\r\n"
    write("prompt", prompt)
    generate = "generate crlf_run --prompt_file prompt --length 0"
    write("command", shlex.join(char_lm.words(generate)))
    seen = on_terminal("sh command 2> errors").stdout
    check(seen.replace(b"\r", b"") == as_bytes("café 1\ncafé 4\n\n"), f"on a terminal: {seen}")
    piped = char_lm.runs(generate)
    check(piped == f"{prompt}\n", f"through a pipe: {piped!r}")


run(takes_names_that_are_no_utf8, gets_the_bytes_of_a_name_back, prints_whole_json, is_so_with_pairs, is_so_with_layers,
    leaves_no_folder, takes_a_dash_for_no_file, says_why_a_picture_cannot_be_written, ends_lines_on_a_terminal)
