#!/usr/bin/env python3
"""What the flags of `train` that change how a model learns make of a training by char_lm, the program that the first
argument names."""

import json
import re
import sys

sys.dont_write_bytecode = True
from cases import Program, all_files, changed, check, lines, metrics, read, run, write

char_lm = Program(sys.argv[1])
SHORT = "--batch_size 4 --max_iters 12 --warmup_iters 2 --eval_interval 4 --log_interval 1"
TEXT = lines(300)
TINY = f"--data text --n_layer 1 --n_head 2 --n_embd 16 --block_size 8 {SHORT}"
CONFIG = {"data": "text", "n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 8, "batch_size": 4, "max_iters": 99,
          "warmup_iters": 2, "eval_interval": 4, "log_interval": 1, "learning_rate": 1e-3}


def train(changes, *expected):
    return char_lm.runs(f"train {changed(TINY, changes)}", *expected)


# --- Trainings: a name, its flags, the run that takes the same course, and those that take another one.

COURSES = [
    ("plain", "", "", ""),

    # Dropout of attention weights apart from the rest.
    ("both", "--dropout 0.3", "", "plain"),
    ("both_named", "--dropout 0.3 --dropatt 0.3", "both", ""),
    ("attention", "--dropatt 0.3", "", "plain"),
    ("rest", "--dropout 0.3 --dropatt 0", "", "plain both"),

    # Several batches an update.
    ("large", "--model transformer --batch_size 6", "", ""),
    ("accumulated", "--model transformer --batch_size 2 --gradient_accumulation_steps 3", "", ""),
    ("rising", "--gradient_accumulation_steps 3 --batch_warmup_iters 4", "", "accumulated"),

    # Losses about lower blocks and later tokens.
    ("deep", "--n_layer 2", "", ""),
    ("layers", "--n_layer 2 --intermediate_losses 1", "", "deep"),
    ("targets", "--n_layer 2 --targets 2", "", "deep layers"),
    ("off", "--n_layer 2 --targets 1 --extra_targets_weight 3", "deep", ""),

    # Tokens fed again, and a loss about the last tokens of each block.
    ("fed_again", "--ext_len 4", "", "plain"),
    ("last", "--loss_tokens 4", "", "plain"),
    ("all", "--loss_tokens 8", "plain", ""),
    ("ordered", "--model music_transformer --ext_len 4", "", ""),
    ("music", "--model music_transformer", "", ""),
    ("sinusoid", "--model transformer --position sinusoid", "", ""),
    ("sinusoid_stepped", "--model transformer --position sinusoid --block_step 4", "", "sinusoid"),
    ("sinusoid_anywhere", "--model transformer --position sinusoid --block_step 1", "sinusoid", ""),
    ("sinusoid_again", "--model transformer --position sinusoid --ext_len 4", "", ""),

    # Parameters that are frozen, or have a learning rate of their own.
    ("frozen", "--freeze 'embedding.*,blocks.0.feed_forward.*'", "", "plain"),
    ("scaled", "--lr_scale '*position*=3'", "", "plain"),

    ("constant", "--schedule constant", "", ""),
    ("linear", "--schedule linear", "", "constant"),
    ("cosine", "--schedule cosine", "", "constant linear"),
    ("inverse_sqrt", "--schedule inverse_sqrt", "", "constant linear cosine"),
    ("noam", "--schedule noam", "", "constant linear cosine inverse_sqrt"),

    # What is held back is the end of the text, here its last 400 characters, or another text.
    ("shared", f"--eval_split {399.5 / len(TEXT)}", "", ""),
    ("apart", "--data first --val_data second", "shared", ""),
]

# --- Flags that make no training, and what is said of them.

REFUSED = [
    ("--dropatt 1", "--dropatt 1, expected 0 to less than 1"),
    ("--model aft --dropatt 0.1", "--dropatt: --model aft has no such option"),
    ("--gradient_accumulation_steps 0", "gradient_accumulation_steps 0"),
    ("--batch_warmup_iters 4", "batch_warmup_iters 4 needs"),
    ("--intermediate_losses 1", "intermediate_losses 1 for a model of one block"),
    ("--targets 9", "targets 9, expected at most block_size 8"),
    ("--ext_len -1", "ext_len -1"),
    ("--model transformer --block_step 0", "block_step 0"),
    ("--model transformer_xl --block_step 4", 'block_step needs batches "blocks"'),
    ("--loss_tokens 9", "loss_tokens 9, expected at most block_size 8"),
    ("--loss_tokens 4 --targets 2", "loss_tokens with auxiliary losses"),
    ("--model r_transformer --ext_len 7", "forget"),
    ("--model transformer --ext_len 4",
     "trainer: ext_len 4 and block_size 8, expected at most the model's 8 positions together"),
    ("--freeze 'head.*'", 'freeze "head.*", expected a pattern that matches a parameter'),
    ("--freeze '*'", "leaves no parameter to train"),
    ("--freeze output.weight", 'freeze "output.weight": output.weight is tied to embedding.weight, expected that name'),
    ("--lr_scale output.weight=2",
     'lr_scale "output.weight": output.weight is tied to embedding.weight, expected that name'),
    ("--lr_scale '*'", 'lr_scale "*", expected PATTERN=FACTOR'),
    ("--lr_scale 'head.*=2'", 'lr_scale "head.*", expected a pattern that matches'),
    ("--eval_split 1", "--eval_split 1, expected more than 0 and less than 1"),
    ("--val_data missing", "missing: No such file"),
]

# What a file of flags has, and what is said of it.
REFUSED_CONFIGS = [
    ('{"n_layers": 1}', 'unknown flag "n_layers", did you mean n_layer?'),
    ('{"schedule": "cosin"}', 'training flag "schedule" is "cosin", expected'),
    ('{"n_layer": "two"}', 'training flag "n_layer" is "two"'),
    ('{"n_layer": 1.5}', 'training flag "n_layer" is 1.5'),
    ('{"n_layer": true}', 'training flag "n_layer" is true'),
    ('{"n_layer": 18446744073709551615}', 'training flag "n_layer" is 18446744073709551615'),
    ('{"seed": -1}', 'training flag "seed" is -1'),
    ('{"threads": 4294967297}', 'training flag "threads" is 4294967297'),
    ('{"window": "wide"}', 'training flag "window" is "wide"'),
    (r'{"data": "text\u0000zzz"}', r'training flag "data" is "text\u0000zzz", expected a text without a zero byte'),
    (r'{"data": "text", "out_dir": "plain\u0000"}', r'training flag "out_dir" is "plain\u0000", expected a text'),
    ("[]", "not a JSON object"),
    ('{"n_layer": 1', "not JSON"),
]

# Commands with the runs that are made.
REFUSED_AFTERWARDS = [
    ("eval sinusoid_again --ext_len 5",
     "--ext_len 5: with --tgt_len 8, expected at most 4, as the model was trained on 12 positions"),
    ("eval sinusoid --ext_len 4",
     "--ext_len 4: with --tgt_len 8, expected at most 0, as the model was trained on 8 positions"),
    ("eval sinusoid --mem_len 8",
     "--mem_len 8: the model has absolute positions, which start anew in each block, expected 0"),
    ("eval plain --eval_split 0", "--eval_split 0, expected more than 0 and at most 1"),
    ("train --init_from plain/best.safetensors --data text --n_layer 2 --out_dir tuned",
     "--n_layer 2: must stay 1, as in plain/best.safetensors"),
    ("train --init_from missing --data text --out_dir tuned", "missing: no such file"),
    ("train --resume --init_from plain/best.safetensors", "--init_from excludes --resume"),
    ("train --config config.json --resume --out_dir large", "--batch_size 4: must stay"),
]


def take_their_courses():
    write("text", TEXT)
    write("first", TEXT[:-400])
    write("second", TEXT[-400:])
    for name, flags, same, others in COURSES:
        train(f"--out_dir {name} {flags}")
        for other in same.split():
            check(metrics(name) == metrics(other), f"{name} and {other} took different courses")
        for other in others.split():
            check(metrics(name) != metrics(other), f"{name} and {other} took the same course")


def refuse_flags():
    for flags, text in REFUSED:
        char_lm.refuses(f"train {changed(TINY, flags)}", text)


def read_flags_from_a_file():
    """Those on the command line win."""
    write("config.json", json.dumps(CONFIG))
    char_lm.runs("train --config config.json --max_iters 12 --out_dir configured")
    check(metrics("configured") == metrics("plain"), "flags from a file make another run")
    for config, text in REFUSED_CONFIGS:
        write("bad.json", config)
        char_lm.refuses("train --config bad.json", f"bad.json: {text}")


def accumulate_what_a_large_batch_gives():
    """But for rounding."""
    large, accumulated = losses("large"), losses("accumulated")
    check(len(large) == len(accumulated) == 12, f"steps: {large}, {accumulated}")
    check(all(abs(a - b) <= 1e-4 for a, b in zip(large, accumulated)), f"accumulated: {large}, {accumulated}")


def losses(folder):
    """The loss of each step."""
    return [float(loss) for loss in re.findall('"loss":([0-9.]+)', read(f"{folder}/metrics.jsonl"))]


def keep_auxiliary_losses_out_of_checkpoints():
    deep = parameters("deep")
    for name in "layers", "targets":
        found = parameters(name)
        check(deep and found == deep, f"parameters of {name}: {found}")
    char_lm.runs("eval layers")


def parameters(folder):
    return re.findall(r"^[a-z0-9_.]+\.(?:weight|bias)", char_lm.runs(f"inspect {folder}"), re.MULTILINE)


def score_with_tokens_fed_again():
    for file, flags in ("own", ""), ("of_4", "--ext_len 4"), ("of_0", "--ext_len 0"):
        char_lm.runs(f"eval fed_again {flags} --losses {file}")
    check(read("own") == read("of_4"), "eval forgets the ext_len of the training")
    check(read("own") != read("of_0"), "eval has the ext_len of the training only")
    # Absolute positions are those that the training had, and no others.
    blocks = char_lm.score("sinusoid")
    check(char_lm.score("sinusoid --mode memory") == blocks, "sinusoids that go on without a memory")
    check(char_lm.score("sinusoid --tgt_len 4 --ext_len 4") != blocks, "eval has no ext_len without a mode")
    check(char_lm.score("sinusoid_again --tgt_len 8 --ext_len 4") == char_lm.score("sinusoid_again"),
          "eval forgets the ext_len of the training with sinusoids")
    check(char_lm.score("music --ext_len 4") == char_lm.score("music --mode memory --ext_len 4"),
          "ext_len without a mode is not that of mode memory")
    # Of a prompt beyond a block, the last half block counts.
    long, short = (char_lm.runs(f"generate sinusoid --prompt '{prompt}' --temperature 1 --length 200")[-201:]
                   for prompt in ("line 25line 36", "e 36"))
    check(long == short, "a text of sinusoids goes on beyond its block")


def end_without_patience():
    """With this rate, the model soon gets worse."""
    train("--out_dir impatient --max_iters 400 --learning_rate 0.5 --min_lr 0.5 --patience 2",
          "stopped after step [0-9]+: 2 evaluations in a row without a new best")
    scores, observed = metrics("impatient").splitlines()[-2:]
    check("validation_loss" in scores and "samples" in observed, "no evaluation at the end")
    before = all_files("impatient")
    char_lm.runs("train --resume --out_dir impatient")
    check(all_files("impatient") == before, "a run that was out of patience went on")
    char_lm.runs("train --resume --out_dir impatient --patience 0 --max_iters 60")
    check('"step":60,' in metrics("impatient").splitlines()[-1], "patience 0 does not go on")


def treat_tied_weights_alike():
    """The output weight is the embedding unless --tie_embedding false says otherwise."""
    train("--out_dir frozen_head --freeze 'embedding.*'",
          "^freeze: output.weight is frozen with embedding.weight, tied to it$")
    train("--out_dir scaled_head --lr_scale 'embedding.*=2'",
          "^lr_scale: output.weight has the factor 2 of embedding.weight, tied to it$")


def set_rates():
    train("--out_dir twice --learning_rate 2e-3 --min_lr 2e-4")
    train("--out_dir all_scaled --lr_scale '*=2'")
    twice, all_scaled = (re.sub('"learning_rate":[^,]*,', "", metrics(name)) for name in ("twice", "all_scaled"))
    check(twice == all_scaled, "a factor of all parameters is not one of the rate")
    train("--out_dir noam --schedule noam --learning_rate 1 --overwrite")
    third = metrics("noam").splitlines()[2]
    check('"learning_rate":0.1443' in third, f"16^-0.5 · min(3^-0.5, 3 · 2^-1.5): {third}")


def begin_with_other_weights():
    write("other", TEXT.replace("line", "nile"))
    start = f"train --init_from plain/best.safetensors --data other {SHORT} --out_dir tuned"
    char_lm.runs(changed(start, "--max_iters 0"))
    tuned, plain = (char_lm.score(f"{run} --data text --mode chunks") for run in ("tuned --checkpoint last", "plain"))
    check(tuned == plain, "other weights than those to begin with")
    char_lm.runs(f"{start} --dropout 0.1 --overwrite")
    check('"step":12,' in read("tuned/metrics.jsonl"), "no training after --init_from")
    write("other", read("other") + "line of Unknown\n")
    char_lm.refuses(
        start, "other: the model does not know 5 characters: 'o', 'f', 'U', 'k', 'w'; the first is number ")


def refuse_commands():
    char_lm.refuses_each(REFUSED_AFTERWARDS)


def hold_back():
    char_lm.runs("eval apart", "^399 tokens$")
    char_lm.runs("eval plain --data second --eval_split 1", "^399 tokens$")


def write_losses():
    """They are those of the score, character by character."""
    printed = char_lm.runs("eval apart --losses losses")
    each = [float(loss) for loss in read("losses").split()]
    check(len(each) == 399, f"{len(each)} losses")
    nats = float(re.search("^(.*) nats", printed, re.MULTILINE)[1])
    check(abs(sum(each) / len(each) - nats) < 1e-4, "the losses are not those of the score")


run(take_their_courses, refuse_flags, read_flags_from_a_file, accumulate_what_a_large_batch_gives,
    keep_auxiliary_losses_out_of_checkpoints, score_with_tokens_fed_again, end_without_patience,
    treat_tied_weights_alike, set_rates, begin_with_other_weights, hold_back, write_losses, refuse_commands)
