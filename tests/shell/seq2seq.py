#!/usr/bin/env python3
"""Uses seq2seq, the program that the first argument names, as people do, and as they should not."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import MOST, Program, changed, check, check_report, metrics, read, run, write
from checkpoints import broken_copies, change_flags, read_checkpoint, weights

seq2seq = Program(sys.argv[1])
TINY = """--n_layer 1 --n_head 2 --n_embd 16 --max_len 20 --batch_size 8 --max_iters 20 --warmup_iters 2
    --eval_interval 10 --log_interval 1"""

# Words turned around, and the words alone.
WORDS = [f"{n * n + 7:x}" for n in range(300)]
ROWS = [f"{word}\t{word[::-1]}\n" for word in WORDS]
SOURCES = "".join(f"{word}\n" for word in WORDS)


def train(changes, *expected):
    return seq2seq.runs(f"train {changed(TINY, changes)}", *expected)


def translate(flags, sources=SOURCES):
    return seq2seq.runs(f"translate {flags}", stdin=sources)


# --- What it is for.


def trains_and_scores():
    write("pairs.tsv", "".join(ROWS))
    train("--data pairs.tsv --out_dir run",
          r"^transformer to transformer with [0-9]+ parameters, on .*: 285 pairs to train on, 15 to",
          r"^step 10/20  loss [0-9.]+  [0-9.]+k tokens/s  ETA 0:",
          r"^step 20  train loss [0-9.]+  validation loss [0-9.]+ nats per token")
    files = sorted(os.listdir("run"))
    check(files == ["best.safetensors", "last.safetensors", "metrics.jsonl"], f"files: {files}")
    check(read("run/metrics.jsonl").count("gradient_norm") == 20, "metrics")
    seq2seq.runs("eval run --predictions predictions", r"^[0-9.]+ % of the targets exact$",
                 r"^[0-9.]+ % sequence error rate$", r"^[0-9.]+ % token error rate$", r"^15 sources$")
    predictions = [row.split("\t") for row in read("predictions").splitlines()]
    check(len(predictions) == 15, f"predictions: {predictions}")
    asked = [f"{row[0]}\t{row[2]}\n" for row in predictions]
    check(asked == ROWS[-15:], f"other pairs than those held back: {asked}")
    seq2seq.runs("eval run --data pairs.tsv --checkpoint last --beam 1 --batch_size 7", "^300 sources$")


def translates_line_by_line():
    """In order, the same whatever the batches and whether alone."""
    whole = translate("run")
    check(whole.count("\n") == 300, f"translate: {whole}")
    check(translate("run --batch_size 7") == whole, "other translations in batches of 7")
    check(translate("run --threads 1") == whole, "other translations on one thread")
    check(translate("run", WORDS[2]) == whole.splitlines(keepends=True)[2], "another translation alone")
    drawn = translate("run --temperature 1 --seed 3")
    check(translate("run --temperature 1 --seed 3 --batch_size 11") == drawn, "other draws in other batches")
    check(translate("run --temperature 1 --seed 4") != drawn, "the same draws from another seed")
    check(translate("run", "") == "", "a translation of nothing")


def answers_before_the_next_line():
    """As at a terminal."""
    with subprocess.Popen(seq2seq.words("translate run"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as translator:
        translator.stdin.write(b"7\n")
        translator.stdin.flush()
        answer = translator.stdout.readline()
        check(answer.endswith(b"\n"), f"the answer to the first line: {answer}")
        translator.stdin.close()
        check(translator.stdout.read() == b"", "more than one answer")


def says_which_lines_it_cannot_read():
    unknown = "7\nxyz!\n8\n"
    text = 'standard input: line 2: the model does not know the character "x"'
    done = seq2seq.fails("translate run", text, stdin=unknown)
    check(done.output.count("\n") == 1, f"before an unknown character: {done.output}")
    done = seq2seq.run("translate run --skip_bad_rows", unknown)
    answers = done.output.split("\n")
    check(done.status == 0 and len(answers) == 4 and answers[1] == "", f"skipped: {done.output}")
    check("skipped standard input: line 2" in done.errors, f"skipped: {done.errors}")


# Kinds of encoder and decoder beside those with the flags that they have of themselves.
MODELS = """
    --encoder rope --decoder rope --norm_first false --share_embedding true --tie_embedding true
    --encoder music_transformer --decoder transformer --activation gelu
    --encoder transformer_xl --decoder transformer_xl --clamp_len 4 --projection_bias true
    --encoder aft --form full --decoder transformer_xl
    --encoder aft --form simple --decoder aft
    --encoder aft --form conv --window 3 --decoder local_rnn
"""


def trains_every_model():
    """On words, with one list of symbols for both sides or two."""
    write("words.tsv", "".join("\t".join(" ".join(side) for side in row.strip().split("\t")) + "\n" for row in ROWS))
    kinds = seq2seq.run("train --encoder ?").errors.partition("expected ")[2].replace(" or ", ", ").strip().split(", ")
    check(len(kinds) > 5, f"kinds of encoders: {kinds}")
    for model in [f"--encoder {kind} --decoder {kind}" for kind in kinds] + MODELS.strip().splitlines():
        train(f"""--data words.tsv --max_iters 2 --out_dir any --overwrite --source_tokens words --target_tokens words
            {model}""")
        seq2seq.runs("eval any --beam 2 --max_length 8")


def has_dates_of_its_own():
    train("--max_iters 2 --max_len 64 --out_dir dates", "on the dates: 19000 pairs to train on, 1000 to validate on")
    translate("dates", "3 March 2021\n")


def goes_on_with_the_same_bits():
    train("--data pairs.tsv --max_iters 10 --lr_decay_iters 20 --out_dir halves")
    seq2seq.runs("train --resume --max_iters 20 --out_dir halves --threads 1")
    train("--data pairs.tsv --lr_decay_iters 20 --out_dir whole")
    for left in metrics, lambda name: translate(f"{name} --checkpoint last --temperature 1"):
        check(left("halves") == left("whole"), "a resumed run differs")


def reads_flags_from_a_file():
    """Those on the command line win."""
    write("config.json", json.dumps({
        "data": "pairs.tsv", "n_layer": 1, "n_head": 2, "n_embd": 16, "max_len": 20, "batch_size": 8, "max_iters": 99,
        "lr_decay_iters": 20, "warmup_iters": 2, "eval_interval": 10, "log_interval": 1}))
    write("wrong.json", '{"n_layers": 1}')
    seq2seq.runs("train --config config.json --max_iters 20 --out_dir configured")
    check(metrics("configured") == metrics("whole"), "other flags than those in the config")
    seq2seq.refuses_each([
        ("train --config wrong.json", 'wrong.json: unknown flag "n_layers", did you mean n_layer?'),
        ("train --config config.json --resume --out_dir any", "--lr_decay_iters 20: must stay"),
    ])


def begins_with_other_weights():
    write("other.tsv", "".join(f"{word[::-1]}\t{word}\n" for word in WORDS))
    write("foreign.tsv", "xyz\t1\n7\t7\n")
    start = "--init_from whole/best.safetensors"
    train(f"{start} --data other.tsv --max_iters 0 --out_dir tuned")
    check(translate("tuned --checkpoint last --temperature 1") == translate("whole --temperature 1"),
          "other weights than those to begin with")
    train(f"{start} --data other.tsv --max_iters 30 --dropout 0.3 --out_dir tuned --overwrite")
    check('"step":30,' in read("tuned/metrics.jsonl"), "no training after --init_from")
    seq2seq.refuses(f"train {start} {TINY} --data foreign.tsv --out_dir any",
                    'the model does not know the character "x"',
                    "; --add_symbols gives new symbols rows of their own\n")
    seq2seq.refuses_each([
        ("train --data foreign.tsv --add_symbols --out_dir none", "--add_symbols: expected --init_from"),
        (f"train {start} --data other.tsv --n_layer 2 --out_dir any",
         "--n_layer 2: must stay 1, as in whole/best.safetensors"),
        (f"train {start} --data other.tsv --target_tokens words", '--target_tokens "words": must stay'),
        ("train --init_from missing --out_dir any", "missing: no such file"),
        (f"train --resume {start}", "--init_from excludes --resume"),
    ])


def adds_symbols():
    """They get rows of their own behind the others, which keep theirs: with one list for both sides or two, with an
    output of its own or the embedding."""
    for lists in "", "--share_embedding true", "--share_embedding true --tie_embedding true":
        train(f"--data pairs.tsv --max_iters 2 {lists} --out_dir known --overwrite")
        more = "--init_from known --add_symbols --data foreign.tsv --eval_split 0.5 --out_dir more --overwrite"
        train(f"{more} --max_iters 0")
        check_rows(lists)
        train(more)
        seq2seq.runs("train --resume --out_dir more --max_iters 22")
        translate("more", "xyz\n")


def check_rows(lists):
    (facts, old), (new_facts, new) = map(read_checkpoint, ("known/best.safetensors", "more/last.safetensors"))
    old, new = weights(old), weights(new)
    for side, added in ("source", "xyz"), ("target", "7"):
        known, symbols = (json.loads(of[f"{side}_symbols"]) for of in (facts, new_facts))
        check(symbols[:len(known)] == known and len(set(symbols)) == len(symbols), f"symbols with {lists}: {symbols}")
        check(set(added) <= set(symbols), f"symbols with {lists}: {symbols}")
    grown = [name for name in old if old[name][1] != new[name][1]]
    check(old.keys() == new.keys() and grown, f"weights with {lists}: {grown}")
    for name in old:
        (_, shape, rows), (_, new_shape, new_rows) = old[name], new[name]
        check(new_shape[1:] == shape[1:] and new_rows.startswith(rows), f"rows of {name} with {lists}")
        check(name not in grown or len(shape) == 1 or any(new_rows[len(rows):]), f"zeros in {name} with {lists}")


def leaves_bad_rows_out():
    write("bad.tsv", "".join(ROWS) + "no tab\n")
    seq2seq.refuses(f"train {TINY} --data bad.tsv --out_dir run", "bad.tsv: line 301: 0 tabs")
    trains = changed(TINY, "--max_iters 1 --data bad.tsv --skip_bad_rows --out_dir any --overwrite")
    done = seq2seq.succeeds(f"train {trains}")
    check(re.search("skipped .*bad.tsv: line 301", done.errors), f"--skip_bad_rows: {done.errors}")
    seq2seq.succeeds("eval any --data bad.tsv --skip_bad_rows")


def saves_at_a_signal():
    training = seq2seq.start(f"train {changed(TINY, '--max_iters 100000 --data pairs.tsv --out_dir stopped')}")
    training.awaits(lambda: os.path.exists("stopped/last.safetensors"))
    done = training.end(signal.SIGTERM)
    check(done.status == 143, f"status {done.status} after SIGTERM")
    check("train --resume --out_dir stopped continues" in done.output, f"after SIGTERM: {done.output}")


def draws_attention():
    printed = seq2seq.runs("attention run --source 1f7 --out map.svg")
    check(printed.endswith("wrote map.svg\n"), f"the picture's place: {printed}")
    check("block 0, mean of 2 heads" in read("map.svg"), "titles of the maps")
    seq2seq.runs("attention run --source 1f7 --target 7f1 --heads --out map.svg")
    check("block 0, head 1" in read("map.svg"), "titles of the maps")
    x = json.loads(seq2seq.runs("attention run --source 1f7 --json"))
    check(x["source"] == list("1f7") and x["target"][-1] == "end" and len(x["blocks"][0]) == 1, f"the alignment: {x}")
    check(all(abs(sum(row) - 1) < 1e-5 and len(row) == 3 for row in x["blocks"][0][0]["weights"]), f"weights: {x}")


def takes_names_and_words_as_they_are():
    """A name is never a command, a percent sign in a word is no format, and a control character not one of the
    picture's."""
    shutil.copytree("run", "|echo>PWNED #")
    seq2seq.runs("attention '|echo>PWNED #' --source 1f7")
    seq2seq.runs("attention run --source 1f7 --out '|echo>PWNED #.svg'")
    check(os.path.isfile("|echo>PWNED #.svg"), "no picture of a name that begins with |")
    check(not os.path.exists("PWNED"), "a command in a name was run")

    rows = [("50%s %", "x\1y %%"), ("100% %d", "%n"), *((f"%s{n} 7%", f"{n}%") for n in range(20))]
    write("percent.tsv", "".join(f"{source}\t{target}\n" for source, target in rows))
    train("--data percent.tsv --source_tokens words --target_tokens words --out_dir percent")
    seq2seq.runs("attention percent --source '50%s %' --target 'x\1y %%' --out percent.svg")
    for word in "50%s", "%", r"x\x01y", "%%":
        check(f">{word}</text>" in read("percent.svg"), f"no '{word}' in {read('percent.svg')}")


def reports():
    for command, found in [
        ("report run percent", "runs=run,percent training attention=4 nothing=0"),
        ("report run --source 1f7", "runs=run attention=1"),
        ("report run --source unknown~", "runs=run nothing=1"),
    ]:
        seq2seq.runs(f"{command} --out report.html", "^wrote report.html$")
        check_report(found)
    # What the report says of the validation pairs is what eval counts.
    exact = re.search(r"(\d+\.\d)\d % of the targets exact", seq2seq.runs("eval run"))[1]
    said = re.search(r"<p>([\d.]+) % of (\d+) translations are exact", read("report.html"))
    check(abs(float(said[1]) - float(exact)) < 0.11, f"the report says {said[0]}, eval {exact}")
    rows = re.findall(r'<tr class="(right|wrong)"><th scope="row">.*?</th><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>', read("report.html"))
    check(rows, "no translations in the report")
    for kind, target, reference in rows:
        check((kind == "right") == (target == reference), f"{target} is {kind}, the reference {reference}")
    # Shares have an axis from 0, and to 1 unless there are more edits than symbols, also while none is exact.
    for title, most in ("Exact translations", "1"), ("Edits", None):
        chart = re.search(f'<div class="title">{title}</div>(.*?)</drawn-figure>', read("report.html"), re.DOTALL)[1]
        ticks = dict(re.findall(r'y="(\d+)%" dy="4" text-anchor="end">([^<]*)<', chart))
        check(ticks.get("100") == "0" and most in (None, ticks.get("0")), f"the axis of {title} has the ticks {ticks}")


def helps():
    for command in "", "eval", "translate", "attention", "report":
        seq2seq.runs(f"{command} --help")
    seq2seq.runs("train --help", "^  --norm_first BOOL=true  ")


# --- What it is not for: a command, and what its error says.

REFUSED = [
    ("", "expected train, eval, translate, attention or report"),
    ("report run missing", "missing/best.safetensors: no such file"),
    ("report run --out run", "--out run: expected the name of a file"),
    ("report", "RUN"),
    ("train --data missing --out_dir run", "missing: No such file"),
    (f"train {TINY} --out_dir run --data long.tsv", "line 2: target: 30 tokens, but the model takes at most 19"),
    ("train --n_embd 18 --n_head 4 --out_dir run", "--n_embd 18 is not divisible by --n_head 4"),
    ("train --encoder local_rnn --out_dir run", "--encoder local_rnn, expected transformer, "),
    ("train --decoder lstm --out_dir run", "--decoder lstm, expected transformer"),
    ("train --source_tokens bytes --out_dir run", "--source_tokens bytes"),
    ("train --share_embedding true --target_tokens words --out_dir run", "--share_embedding"),
    (f"train {TINY} --data pairs.tsv --label_smoothing 1 --out_dir run", "label_smoothing 1"),
    ("train --resume --out_dir run --n_layer 2", "--n_layer 2: must stay 1, as in run/last.safetensors"),
    ("train --resume --out_dir run --max_iters 5",
     "--max_iters 5: the run in run/last.safetensors is already at step 20"),
    ("train --resume --out_dir run --data sorted.tsv", "tokens and lengths, the run's had"),
    ("train --resume --out_dir nowhere", "nowhere/last.safetensors: no such file"),
    ("eval run --checkpoint first", "--checkpoint first"),
    ("eval run --beam 0", "--beam 0"),
    ("eval run --length_penalty -1", "length_penalty -1"),
    ("translate run --batch_size 0", "--batch_size 0"),
    ("translate run --top_p 2", "top_p 2"),
    ("eval run --max_length 0", "--max_length 0"),
    ("attention run --source é", "--source: the model does not know the character"),

    # Rows of one source are held back together, and nothing is left to train on.
    ("train --data one_source.tsv --out_dir new",
     "one_source.tsv: 60 rows, all of one source, of which none is left to train on; expected --val_data"),
    ("train --data one_row.tsv --out_dir new", "one_row.tsv: 1 row, so few that none is left"),
    ("train --data two_rows.tsv --eval_split 0.9 --out_dir new",
     "two_rows.tsv: 2 rows, so few that none is left to train on; expected --val_data"),

    # A flag without a value, and one out of its range.
    ("train --max_len --data pairs.tsv", "--max_len: no value, expected --max_len=TOKENS"),
    ("eval run --temperature -1", "--temperature -1, expected at least 0"),

    # A run is named by its folder or by a file in it.
    ("eval run/best.safetensors --checkpoint last", "--checkpoint last: run/best.safetensors is a file"),
]


def refuses_what_cannot_be_meant():
    write("long.tsv", f"a\tb\nc\td{0:029}\n")
    write("sorted.tsv", "".join(sorted(ROWS)))
    write("one_source.tsv", "".join(f"1f7\t{n}\n" for n in range(60)))
    write("one_row.tsv", "1f7\t1\n")
    write("two_rows.tsv", "1f7\t1\n2f7\t1\n")
    seq2seq.runs("eval run/last.safetensors")
    seq2seq.refuses_each(REFUSED)
    seq2seq.refuses_values(
        f"train {TINY} --data pairs.tsv --out_dir run",
        "n_layer max_iters batch_size learning_rate dropout eval_interval log_interval threads", -1, "{}")


def refuses_values_out_of_range():
    for command, flags in [
        (f"train {TINY}", """n_layer n_head n_embd d_inner max_len max_distance window batch_size max_iters warmup_iters
            lr_decay_iters eval_interval eval_pairs patience save_interval log_interval threads"""),
        ("eval run", "beam top_k max_length batch_size threads"),
    ]:
        seq2seq.refuses_values(command, flags, MOST, f"--{{}} {MOST}, expected at most ")
    for command, flags in [
        (f"train {TINY}", "eval_split dropout learning_rate min_lr weight_decay beta1 beta2 grad_clip label_smoothing"),
        ("translate run", "length_penalty temperature top_p"),
    ]:
        seq2seq.refuses_values(command, flags, "inf", "--{} inf, expected ")


# What a checkpoint says passes the same checks.
LIES = [
    ("eval_split", 1.5, "1.5, expected more than 0 and less than 1"),
    ("max_len", 0, "0, expected at least 2"),
    ("source_tokens", "bytes", '"bytes", expected characters or words'),
    ("encoder", "local_rnn", '"local_rnn", expected transformer, '),
]


def refuses_what_a_checkpoint_says():
    os.mkdir("lying")
    for flag, value, said in LIES:
        change_flags("run/best.safetensors", "lying/best.safetensors", **{flag: value})
        for command in "eval", "translate", "attention --source 1f7":
            seq2seq.refuses(f"{command} lying", f'lying/best.safetensors: training: training flag "{flag}" is {said}')


def refuses_broken_checkpoints():
    for _ in broken_copies("run/best.safetensors", [
            (b"shiftgrad-seq2seq-1", b"shiftgrad-seq2seq-9"), (b"source.embedding.weight", b"source.embedding.wreck")]):
        for command in "eval", "translate":
            seq2seq.refuses(f"{command} broken", "broken/best.safetensors: ")


run(trains_and_scores, translates_line_by_line, answers_before_the_next_line, says_which_lines_it_cannot_read,
    trains_every_model, has_dates_of_its_own, goes_on_with_the_same_bits, reads_flags_from_a_file,
    begins_with_other_weights, adds_symbols, leaves_bad_rows_out, saves_at_a_signal, draws_attention,
    takes_names_and_words_as_they_are, reports, helps, refuses_what_cannot_be_meant, refuses_values_out_of_range,
    refuses_what_a_checkpoint_says, refuses_broken_checkpoints)
