#!/usr/bin/env python3
"""Gives files that save(), char_lm, seq2seq and others wrote to programs that read files: char_lm, seq2seq and
own_model, which the arguments name. What a file has decides what can be done with it, and a refusal says what the file
has, what was needed, and what reads it."""

import json
import os
import resource
import struct
import sys

sys.dont_write_bytecode = True
from cases import Program, check, check_report, lines, read, run, write
from checkpoints import change_type, laid_out, leave_out_vocabulary, write_checkpoint, write_safetensors

char_lm, seq2seq, own_model = map(Program, sys.argv[1:4])
TINY = "--n_layer 1 --n_head 2 --n_embd 16 --batch_size 4 --max_iters 2 --warmup_iters 1 --eval_interval 2"


def write_files():
    write("text", lines(300))
    char_lm.runs(f"train --data text --block_size 8 --log_interval 1 --out_dir run {TINY}")
    seq2seq.succeeds(f"train {TINY} --out_dir pairs")
    os.mkdir("own")
    own_model.succeeds("own/model.safetensors")


# --- inspect reads all of them.

INSPECTED = [
    ("own/model.safetensors", [
        "^has  +weights, config, run, state to resume from$", "^step  +300$",
        r"^attention.qkv.weight  +\[144, 48\]  +F32  +6912  +-?[0-9.e-]+  +[0-9.]+  +[0-9.]+$", "^  type     tiny$"]),
    ("own", ["^own/model.safetensors$"]),
    ("pairs", [
        "^has  +weights, config, symbols, run$", "^validation loss  [0-9.]+ nats = [0-9.]+ bits per token$",
        "^  source_tokens +characters$"]),
    ("run/last.safetensors", ["^has  +weights, config, vocabulary, run, state to resume from$"]),
    # Tensors alone, of types that are no floats, with a name that is a command to a terminal. Integers count in the
    # total.
    ("tensors.safetensors", [
        "^has  +weights$", r"^count  +\[2\]  +I64  +2  +1.5  +0.5  +2.236$",
        r"^.x1B\[2J  +\[\]  +F64  +1  +0.5  +0  +0.5$", "^total  +2 tensors  +3  +1.167  +0.6236  +2.291$"]),
]

# The bits of each type of the format, and of one that it does not have yet; and which of them have a mean.
BITS = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
        "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
        "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64, "I3": 3}
UNREAD_TYPES = "F4", "F6_E2M3", "F6_E3M2", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64", "I3"
BYTE_TYPES = "BOOL", "U8", "I8"


def inspects():
    write_safetensors("tensors.safetensors", *laid_out({
        "count": ("I64", [2], struct.pack("<qq", 1, 2)), "\x1b[2J": ("F64", [], struct.pack("<d", 0.5))}))
    for file, expected in INSPECTED:
        char_lm.runs(f"inspect {file}", *expected)


def inspects_every_type():
    """And more axes than a tensor of ours can have, a tensor without values, and metadata of null."""
    write_checkpoint("types.safetensors", None, {
        **{f"of {name}": (name, [2, 4], b"\1" * bits) for name, bits in BITS.items()},
        "empty": ("F32", [0, 3], b""),
        "long": ("U8", [1] * 9 + [2], b"\3\5"),
        "half": ("F16", [2], struct.pack("<2e", -1.5, 2.5)),
        "counts": ("I64", [3], struct.pack("<3q", 10**9, 10**9 + 1, 10**9 + 2)),
        "none": ("F64", [1], struct.pack("<Q", 0xfff8 << 48)),
    })
    printed = char_lm.runs(
        "inspect types.safetensors", *map(line_of_type, BITS),
        r"^empty  +\[0, 3\]  +F32  +0  +0$",
        r"^long  +\[1, 1, 1, 1, 1, 1, 1, 1, 1, 2\]  +U8  +2  +4  +1  +5.831$",
        r"^half  +\[2\]  +F16  +2  +0.5  +2  +2.915$",
        r"^counts  +\[3\]  +I64  +3  +1e\+09  +0.8165  +1.732e\+09$",
        r"^none  +\[1\]  +F64  +1  +nan  +nan  +nan$",
        r"^total  +28 tensors  +192  +$")
    check("-nan" not in printed, f"a nan with a sign: {printed}")


def line_of_type(name):
    line = rf"^of {name}  +\[2, 4\]  +{name}  +8  +"
    if name in UNREAD_TYPES:
        return f"{line}$"
    return f"{line}1  +0  +2.828$" if name in BYTE_TYPES else f"{line}[0-9.e+-]+  +0  +[0-9.e+-]+$"


# --- A file is read in time with its size, whatever it has many of.


def one(shape, begin, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [4 * begin, 4 * begin + 4]}


def with_config(config):
    return {"__metadata__": {"format": "shiftgrad-model-1", "step": "1", "model": json.dumps(config)}, "w": one([1], 0)}


def keys(count):
    return {f"k{n}": n for n in range(count)}


# A megabyte each of axes, of tensors, of keys and of objects, and beside many tensors a long name and a long shape. No
# total is beyond what a number holds.
LARGE = {
    "axes": {"w": one([1] * 300_000, 0)},
    "tensors": {f"t{n}": one([1], n) for n in range(15_000)},
    "wide": {**{f"t{n}": one([1], n) for n in range(5_000)}, "n" * 300_000: one([1], 5_000),
             "w": one([1] * 150_000, 5_001)},
    "keys": with_config(keys(70_000)),
    "objects": with_config({"list": [{"a": 1}] * 100_000}),
    "nested": with_config({"k" * 500_000: keys(30_000)}),
    "most": {"a": one([2 ** 62], 0, "I3"), "b": one([2 ** 62], 1, "I3")},
}


def reads_large_files():
    # What takes longer than that is ended.
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    for name, header in LARGE.items():
        tensors = len(header) - ("__metadata__" in header)
        write_safetensors(f"{name}.large", header, bytes(4 * tensors))
        printed = char_lm.run(f"inspect {name}.large")
        check(printed.status == 0, f"inspect {name}.large: {printed.errors[:1000]}")
    char_lm.runs("inspect most.large", r"^a  +\[4611686018427387904\]  +I3  +4611686018427387904 +$",
                 r"^total  +2 tensors +$")
    done = char_lm.run("report keys.large --out large.html")
    check(done.status == 0 or "the report would have" in done.errors, f"report: {done.errors[:1000]}")
    shape = char_lm.run("inspect axes.large").output
    check(len(shape) < 10000, f"a shape of {len(shape)} bytes")


# --- It says what a checkpoint lacks as the other commands do.

LACKING = [
    ("other", '"embedding.weight"', '"embedding.heavy!"',
     'missing tensors "embedding.weight"; unexpected tensors "embedding.heavy!"'),
    ("shape", '"shape":[48,16]', '"shape":[16,48]',
     'tensor "blocks.0.mixer.qkv.weight": [16, 48], expected [48, 16]'),
    ("type", '"dtype":"F32"', '"dtype":"I32"', 'tensor "embedding.weight": I32, expected F32'),
]


def says_what_is_lacking():
    whole = read("run/last.safetensors")
    for name, before, after, text in LACKING:
        check(before in whole, f"no {before}")
        write(f"{name}.safetensors", whole.replace(before, after))
        char_lm.refuses(f"inspect {name}.safetensors", f"{name}.safetensors: {text}")


def reads_other_floats():
    """Weights of other floats are read as F32. Those of types that no weights of ours have are refused."""
    for dtype in "F16", "F64":
        change_type("pairs/best.safetensors", f"pairs-{dtype}.safetensors", dtype)
        seq2seq.succeeds(f"eval pairs-{dtype}.safetensors --beam 1")
    change_type("run/best.safetensors", "run-F8_E4M3.safetensors", "F8_E4M3")
    char_lm.refuses("eval run-F8_E4M3.safetensors --data text", "run-F8_E4M3.safetensors: tensor ",
                    "F8_E4M3, expected F32")


# --- report gives what can be given.


def reports():
    leave_out_vocabulary("run/best.safetensors", "language_model.safetensors")
    char_lm.runs("report run own --tokens 20")
    check_report("runs=run,own nothing=5 attention=1 training sample distances context")
    # A LanguageModel's file says what it has learned about distances, too.
    char_lm.runs("report run language_model.safetensors --tokens 20")
    check_report("runs=run,language_model nothing=4 distances")
    # A curve of losses, if the program writes one beside its file.
    write("own/metrics.jsonl", '{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 1.5, "validation_loss": 2}\n')
    char_lm.runs("report own/model.safetensors")
    check_report("runs=model nothing=4 training")
    char_lm.runs("plot own", "^wrote loss.svg$|^wrote own/")


# --- Each refusal names what the file has, what was needed, and what reads it.

HAS_OWN = ("own/model.safetensors: has a model's weights, config and run, but no vocabulary (shiftgrad-model-1); read "
           "it with load() or char_lm inspect and report, expected the format")
HAS_PAIRS = ("pairs/best.safetensors: has an encoder-decoder's weights, config, symbols and run (shiftgrad-seq2seq-1); "
             "read it with seq2seq or char_lm inspect, expected the format")
CHAR_LM_NEEDS = "shiftgrad-1: a language model's weights, config, vocabulary and run"

REFUSED = [
    *((f"{command} own/model.safetensors", f"{HAS_OWN} {CHAR_LM_NEEDS}") for command in (
        "generate", "eval", "positions", "context", "attention --text line", "convert --to aft_full --out_dir new",
        "train --data text --out_dir new --init_from")),
    ("generate pairs", f"{HAS_PAIRS} {CHAR_LM_NEEDS}"),
    ("report pairs", f"{HAS_PAIRS} {CHAR_LM_NEEDS}"),
    ("report tensors.safetensors", "tensors.safetensors: names no format; read it with char_lm inspect"),
    ("generate text", "text: not a safetensors file"),
]

REFUSED_ELSEWHERE = [
    (seq2seq, "eval own/model.safetensors", f"{HAS_OWN} shiftgrad-seq2seq-1: an encoder-decoder's weights"),
    (own_model, "run/best.safetensors", "run/best.safetensors: a model of the config"),
    (own_model, "run/best.safetensors", "; read it with make_model(read_checkpoint(path), path)"),
    (own_model, "pairs/best.safetensors", f"{HAS_PAIRS} shiftgrad-model-1: a model's weights"),
]


def refuses():
    char_lm.refuses_each(REFUSED)
    for program, command, text in REFUSED_ELSEWHERE:
        done = program.run(command)
        check(done.status != 0, f"status 0 of: {command}")
        check(text in done.errors, f"no '{text}' in: {done.errors}")


run(write_files, inspects, inspects_every_type, reads_large_files, says_what_is_lacking, reads_other_floats, reports,
    refuses)
