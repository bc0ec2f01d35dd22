#!/usr/bin/env python3
"""Interrupts trainings by char_lm, the program that the first argument names, in every way there is, and lets them go
on: at the end, each has to have the same bytes as one that was left alone."""

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import NOBODY, Program, all_files, changed, check, lines, metrics, read, run, write

char_lm = Program(sys.argv[1])
TEXT = lines(300)
TINY = """--n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --dropout 0.1 --warmup_iters 4
    --lr_decay_iters 120 --log_interval 1 --eval_iters 3"""
FILES = ["best.safetensors", "last.safetensors", "metrics.jsonl"]


def tiny(flags):
    """These flags and those of a tiny model, whichever the folder is."""
    return f"{TINY} --data {os.path.abspath('text')} {flags}"


def train(folder, flags):
    """A training in this folder, whose run is in `out` there, without a word on standard error."""
    os.makedirs(folder, exist_ok=True)
    done = char_lm.run(f"train {flags}", cwd=folder)
    check(done.status == 0, f"status {done.status} of {folder}: {flags}")
    check_silence(done, folder)
    return done.output


def check_silence(done, folder):
    """It has said nothing, but for a word about this CPU."""
    said = re.sub(".*: --precision bfloat16 gains no time on this CPU.*\n", "", done.errors)
    check(not said, f"errors of {folder}: {said}")


def start(folder, flags):
    os.mkdir(folder)
    return char_lm.start(f"train {flags}", folder)


def same_run(one, other):
    """Both left the same files, but for the speeds and the flags that went with the best checkpoint."""
    for name, of in ("last checkpoint", last), ("best checkpoint", best), ("files", os.listdir):
        check(of(f"{one}/out") == of(f"{other}/out"), f"another {name} of {other}")
    check(metrics(f"{one}/out") == metrics(f"{other}/out"), f"other metrics of {other}")


def last(folder):
    return read(f"{folder}/last.safetensors")


def best(folder):
    return re.sub(r'(max_iters|threads)\\":[0-9]*', "", read(f"{folder}/best.safetensors"))


# --- Killed at any moment, again and again, it comes to the same end.

MODELS = {
    "transformer": "transformer",
    "transformer_xl": "transformer_xl --mem_len 11",
    "sgd": "transformer_xl --optimizer sgd --momentum 0.5",
    "accumulated": "transformer_xl --gradient_accumulation_steps 2 --dropatt 0.2 --freeze blocks.0.*",
    "rising": "transformer_xl --gradient_accumulation_steps 3 --batch_warmup_iters 40 --lr_scale *.bias=2",
    "bfloat16": "transformer_xl --mem_len 11 --precision bfloat16",
    "auxiliary": "transformer --intermediate_losses 1 --targets 2",
    "aft": "aft --form local --window 4",
}


def comes_to_the_same_end():
    write("text", TEXT)
    for name, model in MODELS.items():
        flags = tiny(f"--eval_interval 10 --save_interval 1 --max_iters 120 --model {model}")
        train(f"whole_{name}", flags)
        check(metrics(f"whole_{name}/out").count("\n") == 144, f"metrics of {name}")
        train_in_parts(f"parts_{name}", flags)
        same_run(f"whole_{name}", f"parts_{name}")
        starts = train_with_kills(f"killed_{name}", flags)
        print(f"{name}: {starts} starts")
        same_run(f"whole_{name}", f"killed_{name}")


def train_in_parts(folder, flags):
    train(folder, changed(flags, "--max_iters 15"))
    train(folder, "--resume --max_iters 30 --threads 1")
    printed = train(folder, "--resume --max_iters 120 --threads 0")
    check("continues after step 30 of 120" in printed, f"output: {printed}")
    # The end of the first part was evaluated too.
    file = f"{folder}/out/metrics.jsonl"
    write(file, re.sub('.*"step":15,"(train_loss|samples)".*\n', "", read(file)))


def train_with_kills(folder, flags):
    """Returns the number of starts, of which the last one comes to the end."""
    os.mkdir(folder)
    for starts in range(1, 51):
        training = char_lm.start(f"train {flags}", folder)
        # A start takes some hundredths of a second of the CPU, and so do a few steps.
        ticks = int(2 + 1.2 * (starts - 1) * random.Random(starts).random())
        training.awaits(lambda: training.cpu_time() >= ticks)
        done = training.end(signal.SIGKILL)
        check_silence(done, folder)
        if done.status == 0:
            return starts
        if os.path.exists(f"{folder}/out/last.safetensors"):
            flags = "--resume"
            goes_on(f"{folder}/out")
    train(folder, flags)
    return starts + 1


def goes_on(folder):
    char_lm.succeeds(f"generate {folder} --checkpoint last --length 1")


# --- What may change beside --resume, and what may not.

REFUSED = [
    ("--batch_size 5", "--batch_size 5: must stay"),
    ("--seed 1", "--seed 1: must stay"),
    ("--precision bfloat16", '--precision "bfloat16": must stay'),
    ("--mem_len 3", "--mem_len 3: this --model transformer has no memory"),
    ("--max_iters 119", "--max_iters 119: the run in"),
    ("--data other", "whole_transformer/out/last.safetensors: train_text: others than the run's"),
    ("--data shorter", "the run's had"),
]


def keeps_what_makes_a_run():
    write("other", TEXT.replace("line 0", "line 1"))
    write("shorter", lines(299))
    write("copy", TEXT)
    resume = "train --resume --out_dir whole_transformer/out"
    for flags, text in REFUSED:
        char_lm.fails(f"{resume} {flags}", text, status=2)
    char_lm.fails("train --resume --out_dir missing", "missing/last.safetensors: no such file", status=2)
    os.mkdir("model_only")
    shutil.copy("whole_transformer/out/best.safetensors", "model_only/last.safetensors")
    char_lm.fails("train --resume --out_dir model_only", "model_only/last.safetensors: has no training state", status=2)
    # Nothing is left to do, the same flag is no change, and the same text may lie elsewhere.
    before = all_files("whole_transformer")
    char_lm.succeeds(f"{resume} --batch_size 4 --data copy")
    check(all_files("whole_transformer") == before, "a run that was at its end has changed")


# --- Signals.


def saves_at_a_signal():
    """A run that gets it saves, ends so, and goes on to the same end."""
    flags = tiny("--eval_interval 1000 --max_iters 3000")
    train("whole_signal", flags)
    for name in "INT", "TERM", "HUP", "USR1", "XCPU":
        folder = f"interrupted_{name}"
        number = getattr(signal, f"SIG{name}")
        training = start(folder, flags)
        await_file(training, f"{folder}/out/metrics.jsonl")
        done = training.end(number)
        check(done.status == 128 + number, f"status {done.status} after {name}")
        check(re.search(r"stopped after step [0-9]+; train --resume --out_dir out continues", done.output),
              f"after {name}: {done.output}{done.errors}")
        train(folder, "--resume")
        same_run("whole_signal", folder)


def await_file(training, file):
    """Waits until the training has written something there."""
    written = training.awaits(lambda: os.path.exists(file) and os.path.getsize(file))
    check(written, f"no {file}: {read(training.files[1])}")


def ends_at_once_at_a_second_signal():
    """It does not wait for the step, which takes seconds."""
    training = start("impatient", "--data ../text --model transformer --n_embd 256 --batch_size 128 --warmup_iters 0")
    await_file(training, "impatient/out/last.safetensors")
    training.process.send_signal(signal.SIGTERM)
    training.awaits(lambda: not is_pending(signal.SIGTERM, training.process.pid))
    done = training.end(signal.SIGTERM)
    check(done.status == 143, f"status {done.status} after two signals")
    check("stopped" not in done.output, "a second signal was not at once")


def is_pending(number, process):
    """The process has not taken this signal yet."""
    pending = int(re.search("^ShdPnd:\t(.*)", read(f"/proc/{process}/status"), re.MULTILINE)[1], 16)
    return pending >> (number - 1) & 1


# --- Nobody else trains in the folder of a run, and nothing is left of one that was killed.


def locks_its_folder():
    training = start("locked", tiny("--max_iters 100000 --eval_interval 100000"))
    await_file(training, "locked/out/last.safetensors")
    training.process.send_signal(signal.SIGSTOP)
    for command in f"train {tiny('')}", "train --resume", f"compare transformer {tiny('')}":
        char_lm.fails(f"{command} --out_dir locked/out", "--out_dir locked/out: another training is using it", status=2)
    goes_on("locked/out")
    training.end(signal.SIGKILL)
    char_lm.succeeds("train --resume --out_dir locked/out --max_iters 200")


# --- What fails under way leaves the last checkpoint.


def survives_a_full_disk():
    train("full", tiny("--eval_interval 10 --max_iters 10"))
    before = last("full/out")
    most = len(before) // 2
    full_disk = {"cwd": "full", "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))}
    too_large = "last.safetensors: cannot be written: File too large"
    for flags, text in [
        ("--resume --max_iters 12 --eval_interval 100", f"{too_large}; out/last.safetensors holds step 10"),
        (tiny("--overwrite"), too_large),
    ]:
        char_lm.ends(f"train {flags}", 1, text, **full_disk)
        check(last("full/out") == before, "a full disk has changed a checkpoint")
    check(sorted(os.listdir("full/out")) == FILES, f"a full disk has left {os.listdir('full/out')}")

    os.mkdir("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", "disk"]
    if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode == 0:
        char_lm.ends("train --data text --out_dir disk/out", 1, "No space left on device")
        subprocess.run(["umount", "disk"], check=True)


def changes_no_folder_that_is_read_only():
    if not char_lm.is_for(NOBODY):
        return
    os.chmod(".", 0o711)
    os.chmod("full/out/metrics.jsonl", 0o666)
    os.chmod("full/out", 0o555)
    for flags, file in ("--resume --max_iters 20", "metrics.jsonl"), (tiny("--overwrite"), "last.safetensors"):
        text = f"out/{file}: no temporary file can be made next to it: Permission denied"
        char_lm.fails(f"train {flags} --out_dir full/out", text, **NOBODY)
    os.chmod("full/out", 0o755)


def says_when_a_run_diverges():
    os.mkdir("diverged")
    done = char_lm.ends(f"train {tiny('--optimizer sgd --learning_rate 1e30 --grad_clip 0')}", 1,
                        "out/last.safetensors holds step 0", cwd="diverged")
    check(re.search("step [0-9]+: loss .*, gradient norm .*: not finite|is not finite", done.errors),
          f"a run that diverges: {done.errors}")
    goes_on("diverged/out")


def says_when_a_folder_is_gone():
    """A checkpoint that is there no more is not said to hold a step."""
    training = start("removed", tiny("--max_iters 1000000 --eval_interval 1000000 --save_interval 20"))
    at_step_20 = training.awaits(lambda: "\nstep 20/" in read("removed/output"))
    check(at_step_20, f"no step 20: {read('removed/errors')}")
    os.rename("removed/out", "gone")
    done = training.end()
    check(done.status == 1, f"status {done.status} of a run whose folder was removed")
    check("out/last.safetensors: " in done.errors, f"the errors of a removed folder: {done.errors}")
    check("holds step" not in done.errors, f"a removed folder is said to hold a step: {done.errors}")


run(comes_to_the_same_end, keeps_what_makes_a_run, saves_at_a_signal, ends_at_once_at_a_second_signal, locks_its_folder,
    survives_a_full_disk, changes_no_folder_that_is_read_only, says_when_a_run_diverges, says_when_a_folder_is_gone)
