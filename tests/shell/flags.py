#!/usr/bin/env python3
"""What char_lm, the program that the first argument names, says of flags and names that cannot be meant, whether they
were typed or stand in a checkpoint; and what of a checkpoint may reach a terminal."""

import os
import re
import sys

sys.dont_write_bytecode = True
from cases import MOST, Program, changed, check, lines, read, run, write
from checkpoints import change_flags

char_lm = Program(sys.argv[1])
TINY = """--data text --n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 4 --warmup_iters 2
    --eval_interval 2 --log_interval 1"""


def train(changes, *expected):
    return char_lm.runs(f"train {changed(TINY, changes)}", *expected)


# --- A flag without a value, or with one that is none, is named with what was expected.

NO_VALUE = [
    (f"train {TINY} --out_dir new --max_positions --model=labml",
     "--max_positions: no value, expected --max_positions=TOKENS"),
    (f"train {TINY} --max_positions", "--max_positions: no value, expected --max_positions=TOKENS"),
    (f"train --out_dir --overwrite {TINY}", "--out_dir: no value, expected --out_dir=FOLDER"),
    ("generate run --prompt --length 3", "--prompt: no value, expected --prompt=TEXT"),
    (f"compare {TINY} labml:max_positions", "max_positions: no value, expected max_positions=TOKENS"),
    (f"compare {TINY} labml:max_positions=far", "--max_positions far, expected a whole number"),
    (f"train {TINY} --n_layer many", "--n_layer many, expected a whole number"),
    (f"train {TINY} --n_layer=", "--n_layer: no value, expected --n_layer=LAYERS"),
    (f"train {TINY} --n_layer 1.5", "--n_layer 1.5, expected a whole number"),
    (f"train {TINY} --n_layer 99999999999999999999", "--n_layer 99999999999999999999, expected"),
    (f"train {TINY} --learning_rate fast", "--learning_rate fast, expected a number"),
    (f"train {TINY} --learning_rate nan", "--learning_rate nan, expected"),
    (f"train {TINY} --norm_first maybe", "--norm_first maybe, expected true or false"),
    (f"train {TINY} --seed 99999999999999999999", "--seed 99999999999999999999, expected a whole number"),
    (f"train {TINY} --seed -1", "--seed -1, expected a whole number"),
    (f"train {TINY} --d_inner 288230376151711744", "--d_inner 288230376151711744, expected at most"),
    (f"train {TINY} --threads 4294967297", "--threads 4294967297, expected at most"),
    ("generate run --prompt ''", "--prompt: an empty prompt"),
    ("generate run --temperature -1", "--temperature -1, expected at least 0"),
    ("generate run --top_p 0", "--top_p 0, expected more than 0 and at most 1"),
    ("context run --lengths some", "--lengths: some, expected a whole number"),
    (f"train {TINY} --precision float16", "--precision float16, expected float32 or bfloat16"),
    ("eval run --precision float16", "--precision float16, expected float32 or bfloat16"),
]

# A flag of one value is given once, on the command line, joined to its value or not, and for one model.
GIVEN_TWICE = [
    (f"train {TINY} --data other --out_dir new", "--data: given 2 times, expected one value"),
    ("train --n_layer 1 --n_layer=2 --n_layer 1 --data text", "--n_layer: given 3 times, expected one value"),
    ("generate run --length 1 --length 1", "--length: given 2 times, expected one value"),
    ("plot run --out a.svg --out b.svg", "--out: given 2 times, expected one value"),
    (f"compare {TINY} labml:window=1,window=2", "labml:window=1,window=2: --window: given 2 times"),
]

# Every number has a greatest value: commands, and their whole numbers.
AT_MOST = [
    (f"train {TINY}", """n_layer n_head n_embd d_inner block_size mem_len window clamp_len max_positions d_head max_seq
        max_distance max_len factor_rank batch_size gradient_accumulation_steps batch_warmup_iters targets max_iters
        warmup_iters lr_decay_iters eval_interval eval_iters patience save_interval log_interval threads"""),
    ("eval run", "tgt_len mem_len ext_len clamp_len window batch_size threads"),
    ("generate run", "length num_samples top_k repetition_window mem_len threads"),
    (f"compare {TINY}", "seeds parameters length"),
    ("context run", "tokens"),
    ("attention run --text line", "layer head"),
]
FINITE = [
    (f"train {TINY}", """eval_split dropout dropatt intermediate_losses extra_targets_weight learning_rate min_lr
        weight_decay beta1 beta2 momentum grad_clip"""),
    ("generate run", "temperature top_p min_p repetition_penalty"),
]


def refuses_values():
    write("text", lines(600))
    train("--out_dir run")
    train("--model transformer --out_dir vanilla")
    char_lm.refuses_each(NO_VALUE + GIVEN_TWICE)
    for command, flags in AT_MOST:
        char_lm.refuses_values(command, flags, MOST, f"--{{}} {MOST}, expected at most ")
    char_lm.refuses(f"context run --lengths {MOST}", f"--lengths: {MOST}, expected at most ")
    for command, flags in FINITE:
        char_lm.refuses_values(command, flags, "inf", "--{} inf, expected ")


def takes_values():
    char_lm.runs("generate vanilla --prompt=line --length 3")
    char_lm.runs("plot run --json --json")
    # A list takes all of its values, and a file of flags gives way to the command line.
    char_lm.runs("context run --lengths 1,2 --lengths 3 --tokens 5", "^ *3 ")
    write("flags.json", '{"data": "other", "max_iters": 9}')
    train("--out_dir configured --config flags.json")
    char_lm.runs("inspect configured", "^  max_iters +4$")


# --- What a checkpoint says passes the same checks.

LIES = [
    ("block_size", 0, "0, expected at least 1"),
    ("block_size", -8, "-8, expected at least 1"),
    ("mem_len", MOST, f"{MOST}, expected at most"),
    ("eval_split", 1.5, "1.5, expected more than 0 and less than 1"),
    ("n_layer", True, "true, expected a whole number"),
    ("model", "lstm", '"lstm", expected transformer, '),
    ("vocab", "words", '"words", expected bytes, all_bytes or characters'),
    ("threads", 4294967297, "4294967297, expected at most"),
    ("tie_embedding", 1, "1, expected true or false"),
]


def refuses_what_a_checkpoint_says():
    os.mkdir("lying")
    for flag, value, said in LIES:
        for name in "best", "last":
            change_flags("run/last.safetensors", f"lying/{name}.safetensors", **{flag: value})
        expected = f'.safetensors: training flag "{flag}" is {said}'
        for command in "eval", "generate", "inspect", "attention --text line", "positions", "context":
            char_lm.refuses(f"{command} lying", f"lying/best{expected}")
        char_lm.refuses("train --resume --out_dir lying", f"lying/last{expected}")
        char_lm.refuses(f"train --init_from lying/best.safetensors {TINY} --out_dir new", f"lying/best{expected}")
    change_flags("run/best.safetensors", "lying/best.safetensors", block_size=100000000)
    char_lm.refuses("positions lying", "distances in training, expected at most")


# --- A run is named by its folder or by a file in it.


def names_runs():
    check(char_lm.score("run/best.safetensors") == char_lm.score("run"), "another score of the same checkpoint")
    char_lm.runs("inspect run/last.safetensors", "^run/last.safetensors$")
    char_lm.runs("inspect run/last.safetensors --checkpoint last")
    char_lm.runs("train --init_from run --data text --max_iters 0 --out_dir tuned")
    char_lm.refuses_each([
        ("inspect run/best.safetensors --checkpoint last", "--checkpoint last: run/best.safetensors is a file"),
        ("inspect text", "text: "),
        ("train --resume --out_dir run/last.safetensors", "--out_dir run/last.safetensors: a file, expected a folder"),
        (f"train {TINY} --out_dir text", "--out_dir text: "),
    ])


def says_where_pictures_are():
    for picture, command in [
        ("run/attention.svg", "attention run/last.safetensors --text line"),
        ("run/positions.svg", "positions run/best.safetensors"),
        ("loss.svg", "plot run/metrics.jsonl vanilla"),
        ("report.html", "report run vanilla --tokens 20"),
        ("some.svg", "context run/best.safetensors vanilla --tokens 20 --out some.svg"),
    ]:
        printed = char_lm.runs(command)
        check(printed.endswith(f"wrote {picture}\n"), f"the place of {picture}: {printed}")
        check(os.path.getsize(picture) > 0, f"no {picture}")


# --- A score of a part of the text says so.


def says_what_was_scored():
    text = read("text")
    validated = len(text) // 10
    printed = train("--eval_iters 2 --out_dir part",
                    f"^evaluations score the first 64 of {validated} characters; char_lm eval scores all$")
    said = re.search(r"^step 4 .* = ([0-9.]*) bits", printed, re.MULTILINE)[1]
    char_lm.runs("eval part --checkpoint last", f"^training reported {said} bits per character on the first 64 of "
                 rf"{validated} characters \(--eval_iters 2\)$")
    scored = char_lm.runs("eval part --checkpoint last --data text")
    check("training reported" not in scored, "another text than the training had")

    # The report has the score of eval.
    score = re.search("^([0-9.]*) nats per character$", char_lm.runs("eval part"), re.MULTILINE)[1]
    char_lm.runs("report part --tokens 20")
    reported = re.search("^score.*", re.sub("<[^>]*>", "", read("report.html")), re.MULTILINE)[0]
    check(f"which are {score} nats per character" in reported, f"eval has {score}, the report: {reported}")
    check(reported.endswith(f"for all {validated} characters"), f"the report does not say what was scored: {reported}")

    printed = train("--eval_iters 0 --out_dir whole", r"^step 4 .* bits per character(  best)?$")
    check("evaluations score" not in printed, "nothing was left out")
    scored = char_lm.runs("eval whole")
    check(scored.count("\n") == 5, f"eval: {scored}")


# --- A training ends with what may come next, and its lines fit a terminal.


def ends_with_what_comes_next():
    called = re.escape(char_lm.path)
    printed = train("--out_dir next --seed 12345", "^saved in next: best.safetensors and last.safetensors$",
                    f"^next: {called} eval next$")
    commands = re.findall(f"^(?:next: |      ){called} ([a-z]*) ", printed, re.MULTILINE)
    check(len(commands) == 3, f"next commands: {commands}")
    for command in commands:
        check(char_lm.run(f"{command} next").status == 0, f"the next command, {command}")
    for line in re.findall("^step .*", printed, re.MULTILINE):
        check(len(re.sub("^step [0-9]*", "step 100000", line)) <= 80, f"a line of more than 80 columns: {line}")
    printed = train("--out_dir none --max_iters 0", "^saved in none: last.safetensors$")
    check("\nnext:" not in printed, "commands for a run without a best checkpoint")


def names_texts_that_are_too_short():
    write("short", "short\n")
    write("one", "s")
    char_lm.refuses_each([
        ("train --data short --out_dir new",
         "short: 5 characters to train on, too few for --batch_size 12 streams of --block_size 64 + 1"),
        ("train --data short --model music_transformer --out_dir new",
         "short: 5 characters to train on, too few for a block of --block_size 64 + 1"),
        (f"train {TINY} --val_data one --out_dir new", "one: 1 characters to validate on, expected at least 2"),
    ])


# --- What other programs call a flag, a command or a model leads to what it is here.

FOREIGN = [
    ("train --lr 1e-3", "--lr: no such flag, did you mean --learning_rate?"),
    ("train --d_model=64", "--d_model: no such flag, did you mean --n_embd?"),
    ("train --device cpu", "--device: no such flag; it computes on the CPU, and --threads says on how many"),
    ("generate run --device=cuda", "--device: no such flag; it computes on the CPU"),
    ("generate run --start x", "--start: no such flag, did you mean --prompt?"),
    ("train -lr 1e-3", "-lr: no such flag, did you mean --learning_rate?"),
    ("--lr 1e-3", "--lr: no such flag; expected a command first, such as train"),
    ("help", "help: no such command; --help lists the commands"),
    ("e eval run", "e: no such command; --help lists the commands"),
    ("inspect run eval run", "eval: unexpected argument"),
    ("train text", "text: unexpected argument, did you mean --data text?"),
    ("generate", "OUT_DIR is required: folder of the training run"),
    ("sample run", "sample: no such command, did you mean generate?"),
    ("train --model rope", "--model rope, expected transformer"),
    ("train --model rope", "did you mean --model transformer --position rope?"),
    ("train --model alibi", "did you mean --model transformer --position alibi?"),
    (f"train {TINY} --out_dir new --model transformer --mem_len 8",
     "no memory with absolute positions; --model transformer --position rope has one"),
    (f"train {TINY} --out_dir new --model music_transformer --position sinusoid --mem_len 8",
     "--model music_transformer --position none has one"),
    ("train --config lr.json", 'lr.json: unknown flag "lr", did you mean learning_rate?'),
    ("eval text", "text: not a safetensors file"),
]


def leads_to_its_own_names():
    write("lr.json", '{"lr": 1}')
    char_lm.refuses_each(FOREIGN)
    train("--out_dir rope --model transformer --mem_len 8 --position rope")


# --- The help of a training begins with examples, and groups its flags.

GROUPS = {"Texts": "data", "The run": "resume", "The model": "n_layer", "Options of some models": "max_distance",
          "Batches": "batch_size", "The loss": "loss_tokens", "Updates": "learning_rate"}


def groups_flags():
    said = char_lm.runs("train --help")
    check(said.splitlines()[2] == "Examples:", f"no examples at the top: {said[:300]}")
    check(len(re.findall("^  char_lm train", said, re.MULTILINE)) == 3, "not three examples")
    groups, flags = {}, None
    for line in said.splitlines():
        if re.match("[A-Z].*:$", line):
            flags = groups.setdefault(line[:-1], [])
        elif line.startswith("  --"):
            flags.append(re.match(r"  --(\w+)", line)[1])
    for title, flag in GROUPS.items():
        check(title in groups, f"no group {title}")
        check(flag in groups.get(title, []), f"{flag} is not below {title}: {groups}")
    check(groups["Options"] == [], f"flags without a group: {groups['Options']}")


def says_where_compared_runs_are():
    compared = changed(TINY, "--seeds 1 --length 3 --out_dir compared")
    char_lm.runs(f"compare {compared} labml aft", "^== labml, run 1 of 1, in compared/labml/1337$")
    char_lm.runs("compare --help", "MODEL/SEED")


# --- Commands to a terminal that stand in a checkpoint do not reach it, nor does what is endless.


def quiet(command):
    """Without a control character, and not much at all."""
    done = char_lm.run(command)
    for said in done.output, done.errors:
        check(not re.search(r"[\0-\x09\x0b-\x1f\x7f]", said), f"control characters of {command}: {said!a}")
        check(len(said) < 10000, f"{len(said)} characters of {command}")
    return done


def keeps_terminals_quiet():
    escape = "\x1b]0;owned\x07"
    lying = "lying/best.safetensors"
    change_flags("run/best.safetensors", lying, data=escape, freeze=f"{escape}\x9b2J")
    errors = quiet("eval lying").errors
    check(r"\x1B]0;owned\x07" in errors, f"not escaped: {errors!a}")
    output = quiet("inspect lying").output
    check(r"\x1B]0;owned\x07\xC2\x9B2J" in output, f"not escaped: {output!a}")
    change_flags("run/best.safetensors", lying, data="a" * 100000)
    quiet("eval lying")
    quiet("inspect lying")
    change_flags("run/best.safetensors", lying, model=escape + "a" * 100000)
    quiet("eval lying")


run(refuses_values, takes_values, refuses_what_a_checkpoint_says, names_runs, says_where_pictures_are,
    says_what_was_scored, ends_with_what_comes_next, names_texts_that_are_too_short, leads_to_its_own_names,
    groups_flags, says_where_compared_runs_are, keeps_terminals_quiet)
