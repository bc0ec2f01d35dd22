#!/usr/bin/env python3
"""What the flags of `train` that change how a model learns make of a training by char_lm, the program that the first
argument names."""

import json
import re
import sys

sys.dont_write_bytecode = True
from cases import Program, all_files, changed, check, lines, metrics, read, run, write

char_lm = Program(sys.argv[1])
SHAPE = "--n_layer 1 --n_head 2 --n_embd 16 --block_size 8"
SHORT = "--batch_size 4 --max_iters 12 --warmup_iters 2 --eval_interval 4 --log_interval 1"
TINY = f"--data text {SHAPE} {SHORT}"


def train(changes, *expected):
    return char_lm.runs(f"train {changed(TINY, changes)}", *expected)


def refuses_flags(cases):
    for flags, expected in cases:
        char_lm.refuses(f"train {changed(TINY, flags)}", expected)


def same(one, other):
    check(metrics(one) == metrics(other), f"{one} and {other} took different courses")


def differ(one, other):
    check(metrics(one) != metrics(other), f"{one} and {other} took the same course")


def score(command):
    """What eval prints of a run, without the line that says how the training scored it."""
    return char_lm.runs(f"eval {command}").splitlines()[:4]


def train_plainly():
    write("text", lines(300))
    train("--out_dir plain")


def drop_attention_weights():
    train("--out_dir both --dropout 0.3")
    train("--out_dir both_named --dropout 0.3 --dropatt 0.3")
    same("both", "both_named")
    train("--out_dir attention --dropatt 0.3")
    train("--out_dir rest --dropout 0.3 --dropatt 0")
    differ("attention", "plain")
    differ("rest", "plain")
    differ("rest", "both")
    refuses_flags([
        ("--dropatt 1", "--dropatt 1, expected 0 to less than 1"),
        ("--model aft --dropatt 0.1", "--dropatt: --model aft has no such option"),
    ])


def accumulate_batches():
    """Several batches of blocks an update are those of one large batch, but for rounding."""
    train("--out_dir large --model transformer --batch_size 6")
    train("--out_dir accumulated --model transformer --batch_size 2 --gradient_accumulation_steps 3")
    large, accumulated = losses("large"), losses("accumulated")
    check(len(large) == len(accumulated) == 12, f"steps: {large}, {accumulated}")
    check(all(abs(a - b) <= 1e-4 for a, b in zip(large, accumulated)), f"accumulated: {large}, {accumulated}")
    train("--out_dir rising --gradient_accumulation_steps 3 --batch_warmup_iters 4")
    differ("rising", "accumulated")
    refuses_flags([
        ("--gradient_accumulation_steps 0", "gradient_accumulation_steps 0"),
        ("--batch_warmup_iters 4", "batch_warmup_iters 4 needs"),
    ])


def losses(folder):
    """The loss of each step."""
    return [float(loss) for loss in re.findall('"loss":([0-9.]+)', read(f"{folder}/metrics.jsonl"))]


def learn_from_lower_blocks_and_later_tokens():
    """The checkpoint's model is without these losses."""
    for name, flags in ("deep", ""), ("layers", "--intermediate_losses 1"), ("targets", "--targets 2"):
        train(f"--n_layer 2 --out_dir {name} {flags}")
    differ("layers", "deep")
    differ("targets", "deep")
    differ("layers", "targets")
    deep = parameters("deep")
    for name in "layers", "targets":
        found = parameters(name)
        check(deep and found == deep, f"parameters of {name}: {found}")
    char_lm.runs("eval layers")
    train("--n_layer 2 --targets 1 --extra_targets_weight 3 --out_dir off")
    same("off", "deep")
    refuses_flags([
        ("--intermediate_losses 1", "intermediate_losses 1 for a model of one block"),
        ("--targets 9", "targets 9, expected at most block_size 8"),
    ])


def parameters(folder):
    return re.findall(r"^[a-z0-9_.]+\.(?:weight|bias)", char_lm.runs(f"inspect {folder}"), re.MULTILINE)


def feed_tokens_again():
    train("--out_dir fed_again --ext_len 4")
    differ("fed_again", "plain")
    for file, flags in ("own", ""), ("of_4", "--ext_len 4"), ("of_0", "--ext_len 0"):
        char_lm.runs(f"eval fed_again {flags} --losses {file}")
    check(read("own") == read("of_4"), "eval forgets the ext_len of the training")
    check(read("own") != read("of_0"), "eval has the ext_len of the training only")
    train("--out_dir last --loss_tokens 4")
    differ("last", "plain")
    train("--out_dir all --loss_tokens 8")
    same("all", "plain")
    train("--out_dir ordered --model music_transformer --ext_len 4")
    refuses_flags([
        ("--ext_len -1", "ext_len -1"),
        ("--loss_tokens 9", "loss_tokens 9, expected at most block_size 8"),
        ("--loss_tokens 4 --targets 2", "loss_tokens with auxiliary losses"),
        ("--model r_transformer --ext_len 2", "forget"),
    ])


def keep_absolute_positions():
    """Those of tokens fed again are those that the training had, and no others."""
    train("--out_dir sinusoid --model transformer --position sinusoid")
    train("--out_dir sinusoid_again --model transformer --position sinusoid --ext_len 4")
    blocks = score("sinusoid")
    check(score("sinusoid --mode memory") == blocks, "sinusoids that go on without a memory")
    check(score("sinusoid --tgt_len 4 --ext_len 4") != blocks, "eval has no ext_len without a mode")
    check(score("sinusoid_again --tgt_len 8 --ext_len 4") == score("sinusoid_again"),
          "eval forgets the ext_len of the training with sinusoids")
    train("--out_dir music --model music_transformer")
    check(score("music --ext_len 4") == score("music --mode memory --ext_len 4"),
          "ext_len without a mode is not that of mode memory")
    char_lm.refuses_each([
        (f"train {TINY} --model transformer --ext_len 4",
         "trainer: ext_len 4 and block_size 8, expected at most the model's 8 positions together"),
        ("eval sinusoid_again --ext_len 5",
         "--ext_len 5: with --tgt_len 8, expected at most 4, as the model was trained on 12 positions"),
        ("eval sinusoid --ext_len 4",
         "--ext_len 4: with --tgt_len 8, expected at most 0, as the model was trained on 8 positions"),
        ("eval sinusoid --mem_len 8",
         "--mem_len 8: the model has absolute positions, which start anew in each block, expected 0"),
    ])
    # Of a prompt beyond a block, the last half block counts.
    long, short = (char_lm.runs(f"generate sinusoid --prompt '{prompt}' --temperature 1 --length 200")[-201:]
                   for prompt in ("line 25line 36", "e 36"))
    check(long == short, "a text of sinusoids goes on beyond its block")


def end_without_patience():
    """With this rate, the model soon gets worse."""
    train("--out_dir impatient --max_iters 400 --learning_rate 0.5 --min_lr 0.5 --patience 2",
          "stopped after step [0-9]+: 2 evaluations in a row without a new best")
    check("validation_loss" in last_metrics("impatient"), "no evaluation at the end")
    before = all_files("impatient")
    char_lm.runs("train --resume --out_dir impatient")
    check(all_files("impatient") == before, "a run that was out of patience went on")
    char_lm.runs("train --resume --out_dir impatient --patience 0 --max_iters 60")
    check('"step":60,' in last_metrics("impatient"), "patience 0 does not go on")


def last_metrics(folder):
    return read(f"{folder}/metrics.jsonl").splitlines()[-1]


def freeze():
    train("--out_dir frozen --freeze 'embedding.*,blocks.0.feed_forward.*'")
    differ("frozen", "plain")
    # The output weight is the embedding unless --tie_embedding false says otherwise.
    train("--out_dir frozen_head --freeze 'embedding.*'",
          "^freeze: output.weight is frozen with embedding.weight, tied to it$")
    refuses_flags([
        ("--freeze 'head.*'", 'freeze "head.*", expected a pattern that matches a parameter'),
        ("--freeze '*'", "leaves no parameter to train"),
        ("--freeze output.weight",
         'freeze "output.weight": output.weight is tied to embedding.weight, expected that name'),
    ])


def scale_rates():
    """Some parameters have a learning rate of their own, or all."""
    train("--out_dir scaled_head --lr_scale 'embedding.*=2'",
          "^lr_scale: output.weight has the factor 2 of embedding.weight, tied to it$")
    train("--out_dir scaled --lr_scale '*position*=3'")
    differ("scaled", "plain")
    train("--out_dir twice --learning_rate 2e-3 --min_lr 2e-4")
    train("--out_dir all_scaled --lr_scale '*=2'")
    twice, all_scaled = (re.sub('"learning_rate":[^,]*,', "", metrics(name)) for name in ("twice", "all_scaled"))
    check(twice == all_scaled, "all_scaled and twice took different courses")
    refuses_flags([
        ("--lr_scale 'output.weight=2'",
         'lr_scale "output.weight": output.weight is tied to embedding.weight, expected that name'),
        ("--lr_scale '*'", 'lr_scale "*", expected PATTERN=FACTOR'),
        ("--lr_scale 'head.*=2'", 'lr_scale "head.*", expected a pattern that matches'),
    ])


def follow_schedules():
    schedules = "constant", "linear", "cosine", "inverse_sqrt", "noam"
    for n, schedule in enumerate(schedules):
        train(f"--out_dir {schedule} --schedule {schedule}")
        for other in schedules[:n]:
            differ(other, schedule)
    train("--out_dir noam --schedule noam --learning_rate 1 --overwrite")
    third = read("noam/metrics.jsonl").splitlines()[2]
    # 16^-0.5 · min(3^-0.5, 3 · 2^-1.5)
    check('"learning_rate":0.1443' in third, f"noam: {third}")


def begin_with_other_weights():
    write("other", "".join(line.replace("line", "nile", 1) for line in read("text").splitlines(keepends=True)))
    start = f"train --init_from plain/best.safetensors --data other {SHORT} --out_dir tuned"
    char_lm.runs(changed(start, "--max_iters 0"))
    check(score("tuned --checkpoint last --data text --mode chunks") == score("plain --data text --mode chunks"),
          "other weights than those to begin with")
    char_lm.runs(f"{start} --dropout 0.1 --overwrite")
    check('"step":12,' in read("tuned/metrics.jsonl"), "no training after --init_from")
    write("other", read("other") + "line of Unknown\n")
    char_lm.refuses_each([
        (start, "other: the model does not know 5 characters: 'o', 'f', 'U', 'k', 'w'; the first is number "),
        ("train --init_from plain/best.safetensors --data text --n_layer 2 --out_dir tuned",
         "--n_layer 2: must stay 1, as in plain/best.safetensors"),
        ("train --init_from missing --data text --out_dir tuned", "missing: no such file"),
        ("train --resume --init_from plain/best.safetensors", "--init_from excludes --resume"),
    ])


def hold_back():
    text = read("text")
    write("first", text[:-400])
    write("second", text[-400:])
    train(f"--out_dir shared --eval_split {399.5 / len(text)}")
    train("--out_dir apart --data first --val_data second")
    same("shared", "apart")
    char_lm.runs("eval apart", "^399 tokens$")
    char_lm.runs("eval plain --data second --eval_split 1", "^399 tokens$")
    char_lm.refuses_each([
        (f"train {TINY} --eval_split 1", "--eval_split 1, expected more than 0 and less than 1"),
        ("eval plain --eval_split 0", "--eval_split 0, expected more than 0 and at most 1"),
        (f"train {TINY} --val_data missing", "missing: No such file"),
    ])


def write_losses():
    """They are those of the score, character by character."""
    printed = char_lm.runs("eval apart --losses losses")
    each = [float(loss) for loss in read("losses").split()]
    check(len(each) == 399, f"{len(each)} losses")
    nats = float(re.search("^(.*) nats", printed, re.MULTILINE)[1])
    check(abs(sum(each) / len(each) - nats) < 1e-4, "the losses are not those of the score")


CONFIG = {"data": "text", "n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 8, "batch_size": 4, "max_iters": 99,
          "warmup_iters": 2, "eval_interval": 4, "log_interval": 1, "learning_rate": 1e-3}

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


def read_flags_from_a_file():
    """Those on the command line win."""
    write("config.json", json.dumps(CONFIG))
    char_lm.runs("train --config config.json --max_iters 12 --out_dir configured")
    same("configured", "plain")
    for config, expected in REFUSED_CONFIGS:
        write("bad.json", config)
        char_lm.refuses("train --config bad.json", f"bad.json: {expected}")
    char_lm.refuses("train --config config.json --resume --out_dir large", "--batch_size 4: must stay")


run(train_plainly, drop_attention_weights, accumulate_batches, learn_from_lower_blocks_and_later_tokens,
    feed_tokens_again, keep_absolute_positions, end_without_patience, freeze, scale_rates, follow_schedules,
    begin_with_other_weights, hold_back, write_losses, read_flags_from_a_file)
