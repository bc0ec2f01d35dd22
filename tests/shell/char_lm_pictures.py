#!/usr/bin/env python3
"""Looks into runs of char_lm, the program that the first argument names, as people do, and as they should not."""

import json
import math
import os
import re
import shutil
import sys
import xml.dom.minidom

sys.dont_write_bytecode = True
from cases import Program, as_text, check, lines, read, run, write

char_lm = Program(sys.argv[1])
TINY = """--data text --n_layer 2 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 4 --warmup_iters 2
    --eval_interval 2 --log_interval 1"""
TEXT = lines(300).replace("\n", " <&>`\"\\%'\n")

# Names of runs, some of which mean something to a shell, and what makes them another model.
RUNS = {
    "xl": "",
    'a `date` "run': "",
    "deep/xl": "--position learned",
    "rope": "--model transformer --position rope",
    "vanilla": "--model transformer",
    "alibi": "--model transformer --position alibi",
    "shaw": "--model shaw --max_distance 3",
    "music": "--model music_transformer",
    "labml": "--model labml",
    "aft": "--model aft --window 4",
    "conv": "--model aft --form conv --window 4",
    "rnn": "--model local_rnn",
    "r_transformer": "--model r_transformer",
    "other": "--eval_split 0.3",
}


def train():
    write("text", TEXT)
    for name, flags in RUNS.items():
        char_lm.runs(f"train {TINY} --out_dir '{name}' {flags}")


def shows(picture, *texts):
    """The picture is whole, has a title and a description, and each of the texts is all that one of its labels says."""
    drawn = read(picture)
    check(drawn.endswith("\n</svg>\n"), f"not a whole picture: {picture}")
    for part in '<title id="title">.', '<desc id="description">.':
        check(re.search(part, drawn), f"no {part} in {picture}")
    for text in texts:
        check(f">{text}</text>" in drawn, f"no '{text}' in {picture}: {re.findall('<text.*', drawn)}")


def is_well_formed(picture):
    try:
        return xml.dom.minidom.parse(picture)
    except xml.parsers.expat.ExpatError:
        return None


def json_of(command):
    return json.loads(char_lm.runs(f"{command} --json"))


# --- inspect


def inspects():
    printed = char_lm.runs(
        "inspect xl",
        r"^xl/best.safetensors$",
        r"^step +[24]$",
        r"^validation loss +[0-9.]+ nats = [0-9.]+ bits per character$",
        r"^parameter +shape +type +count +mean +deviation +norm$",
        r"^blocks\.1\.mixer\.qkv\.weight +\[48, 16\] +F32 +768 +-?[0-9.e-]+ +[0-9.]+ +[0-9.]+$",
        r"^final_norm\.weight +\[16\] +F32 +16 +[0-9.]+ +[0-9.e-]+ +[34][0-9.]*$",
        r"^  mixer\.type +transformer_xl_attention$",
        r"^  max_iters +4$")
    counts = [int(count) for count in re.findall(r"^[a-z].*\] +F32 +([0-9]+) ", printed, re.MULTILINE)]
    total = re.search(r"^total +([0-9]+) tensors +([0-9]+) ", printed, re.MULTILINE)
    check(total and total.groups() == (str(len(counts)), str(sum(counts))), f"not the sum of {counts}: {printed}")
    char_lm.runs("inspect xl --checkpoint last", "^step +4$")
    char_lm.refuses_each([
        ("inspect missing", "missing/best.safetensors: no such file"),
        ("inspect text", "text: "),
        ("inspect xl --checkpoint first", "--checkpoint first, expected best or last"),
        ("inspect", "OUT_DIR"),
        ("inspect xl --out any", "--out"),
    ])


# --- plot


def plots():
    char_lm.runs("""plot xl 'a `date` "run' deep/xl""")
    shows("loss.svg", "xl", "deep/xl", 'a `date` "run', "step", "nats per character", "bits per character")
    char_lm.runs("""plot xl/ deep/xl/../../rope --out "it's one.svg" """)
    shows("it's one.svg", "xl", "rope", "pale: each batch", "on top: validation")
    # The last line of a run that is under way may not be whole.
    os.mkdir("young")
    write("young/metrics.jsonl", read("xl/metrics.jsonl").splitlines(keepends=True)[0] + '{"step":2,"lo')
    char_lm.runs("plot young --out young.svg")
    shows("young.svg", "young")

    xl, rope = json_of("plot xl rope")["runs"]
    check([xl["name"], rope["name"]] == ["xl", "rope"], f"names: {xl}, {rope}")
    check(xl["batches"]["steps"] == [1, 2, 3, 4], f"batches: {xl}")
    validation = rope["validation"]
    check(validation["steps"] == [2, 4] and all(loss > 0 for loss in validation["losses"]), f"validation: {validation}")


def plots_no_broken_metrics():
    os.mkdir("broken")
    char_lm.refuses_each([
        ("plot missing xl", "missing/metrics.jsonl: No such file"),
        ("plot xl broken", "broken/metrics.jsonl: No such file"),
        ("plot xl --out xl", "--out xl: expected the name of a file"),
        ("plot xl --out no/loss.svg", "--out no/loss.svg: there is no folder"),
        ("plot", "RUN"),
        ("plot xl --json --out loss.svg", "--out excludes --json"),
    ])
    for metrics, text in [
        ('{"step":1,"loss":', "line 1: "),
        ('{"step":1,"loss":"much"}', 'line 1: loss "much", expected a number'),
        ('{"step":1,"loss":null}', "has no finite loss"),
    ]:
        write("broken/metrics.jsonl", f"{metrics}\n")
        char_lm.refuses("plot broken", f"broken/metrics.jsonl: {text}")


# --- attention


# Flags, the number of maps, the picture, and labels of it.
MAPS = [
    ("xl --text 'line 1\nl%`\"'", 4, "xl/attention.svg", [
        "attention weights of xl/best.safetensors", "layer 0, head 0", "layer 1, head 1", "query", "key", "hidden", "␣",
        "↵", "%", "`", "l"]),
    ("xl --text 'line 1' --layer 1 --head 0 --checkpoint last", 1, "one.svg",
     ["attention weights of xl/last.safetensors", "layer 1, head 0"]),
    ("aft --text 'line 1'", 2, "aft.svg", ["layer 0, mean of 16 channels", "layer 1, mean of 16 channels"]),
    ("conv --text 'line 1'", 4, "conv.svg", ["layer 0, head 1"]),
    *((f"{model} --text line", 4, "maps.svg", [])
      for model in ("rope", "vanilla", "alibi", "shaw", "music", "labml", "r_transformer")),
]


def draws_maps():
    for flags, number, picture, texts in MAPS:
        char_lm.runs(f"attention {flags}" + ("" if picture == "xl/attention.svg" else f" --out {picture}"))
        shows(picture, *texts)
        drawn = read(picture)
        check(len(re.findall(">layer [0-9]*, ", drawn)) == number, f"not {number} maps in {picture}")
        check(drawn.count(">weight</text>") == 1, f"not one scale in {picture}")
    # Each of 11 queries hides the keys after it; a line of cells begins at each but the last, and the scale says what
    # it is.
    hidden = re.findall('class="hidden" d="([^"]*)"', read("xl/attention.svg"))
    cells = sum(int(length) for path in hidden for length in re.findall("h([0-9]+)", path))
    check(cells == 4 * 55 + 1, f"not all later keys are hidden: {hidden}")


def prints_weights():
    x = json_of("attention xl --text 'line 1' --layer 1")
    check(x["characters"] == list("line 1") and [len(layer) for layer in x["layers"]] == [2], f"heads: {x}")
    check(all(abs(sum(row) - 1) < 1e-5 for head in x["layers"][0] for row in head["weights"]), f"weights: {x}")


NO_MAPS = [
    ("rnn --text line", "rnn/best.safetensors: the model has no attention"),
    ("xl --text l", "--text of 1 characters, expected 2 to 100"),
    ("vanilla --text 'line line'", "--text of 9 characters, expected 2 to 8"),
    ("xl --text Line", "--text: the model does not know the character 'L', number 1"),
    ("xl", "--text is required"),
    ("xl --text line --layer 2", "--layer 2, expected 0 to 1"),
    ("xl --text line --head -1", "--head -1, expected at least 0"),
    ("aft --text line --head 1", "--head 1, expected 0 to 0"),
    ("missing --text line", "missing/best.safetensors: no such file"),
    ("xl --text line --out no/maps.svg", "--out no/maps.svg: there is no folder"),
]


# --- positions

# A run, how many lines all panels have, and labels of them.
DISTANCES = [
    ("xl", 8, ["bias v·r / √D", "norm of r", "head 1", "distance δ, characters"]),
    ("deep/xl", 8, ["bias s / √D", "norm of r"]),
    ("labml", 8, ["bias s / √D", "norm of r", "distance δ, characters (dashed: the longest in training)"]),
    ("music", 8, ["bias s / √D", "norm of r"]),
    ("shaw", 4, ["norm of the keys' a", "norm of the values' b", "shared"]),
    ("aft", 2, ["bias w, mean over queries", "shared"]),
    ("conv", 4, ["bias w, mean over queries", "head 1"]),
]


def draws_distances():
    for model, number, texts in DISTANCES:
        char_lm.runs(f"positions {model}")
        picture = f"{model}/positions.svg"
        shows(picture, f"learned about distances by {model}/best.safetensors", "layer 0", "layer 1", *texts)
        # Lines of the legend are 22 pixels long.
        curves = [curve for curve in re.findall('<path class="curve.*', read(picture)) if 'h22"' not in curve]
        check(len(curves) == number, f"not {number} lines in {picture}")
    x = json_of("positions shaw")
    check(x["trained"] == 7 and [len(layer) for layer in x["layers"]] == [2, 2], f"distances: {x}")
    first = x["layers"][0][0]
    check(first["first"] == 0 and [len(head) for head in first["heads"]] == [4], f"distances: {x}")


LEARNED_NOTHING = "best.safetensors: nothing learned about distances:"
NO_DISTANCES = [
    ("alibi", f"alibi/{LEARNED_NOTHING} ALiBi's slopes are fixed"),
    ("rope", f"rope/{LEARNED_NOTHING} rotary positions are fixed"),
    ("vanilla", f"vanilla/{LEARNED_NOTHING} its learned positions are absolute"),
    ("rnn", f"rnn/{LEARNED_NOTHING} it has no positions"),
    ("r_transformer", f"r_transformer/{LEARNED_NOTHING} it has no positions"),
    ("missing", "missing/best.safetensors: no such file"),
    ("xl --checkpoint first", "--checkpoint first, expected best or last"),
    ("xl --out xl", "--out xl: expected the name of a file"),
    ("", "OUT_DIR"),
]


# --- context


def scores_contexts():
    char_lm.runs(
        "context xl vanilla deep/xl --tokens 50",
        "^Bits per character, over 50 characters, each predicted from exactly this many before it:$",
        "^ +context +xl +vanilla +deep/xl$",
        r"^ +1( +[0-9]\.[0-9]{3}){3}$",
        r"^ +8( +[0-9]\.[0-9]{3}){3}$",
        "^ +9 +[0-9.]+ +- +[0-9.]+$",
        "^ +16 +[0-9.]+ +- +[0-9.]+$",
        "^vanilla has learned positions for only 8 characters$",
        "^ +r +xl +vanilla +deep/xl$",
        r"^ +0\.1( +(>= )?[0-9]+){3}$")
    shows("context.svg", "xl", "vanilla", "deep/xl", "context, characters", "bits per character", "trained on 8")
    x = json_of("context xl vanilla --tokens 50 --lengths 2,8,9")
    check(x["lengths"] == [2, 8, 9] and [len(run["bits"]) for run in x["runs"]] == [3, 2], f"lengths: {x}")
    check(x["runs"][0]["trained"] == 8, f"trained: {x}")


def scores_contexts_as_eval_does():
    """The same characters from the same context are scored in a sliding window, and blocks are chunks."""
    char_lm.runs("eval vanilla --mode sliding --tgt_len 3 --losses each")
    each = [float(loss) for loss in read("each").split()][2:]
    bits = f"{sum(each) / len(each) / math.log(2):.3f}"
    char_lm.runs("context vanilla --lengths 1,3 --tokens 1000000", f"^ +3 +{bits}$")

    printed = char_lm.runs("context xl vanilla --mode blocks --out blocks.svg", r"^ +8( +[0-9]\.[0-9]{3}){2}$",
                           "^ +64 +[0-9.]+ +-$")
    shows("blocks.svg", "xl", "vanilla", "block, characters", "8", "64")
    found = re.search("^ +32 +([0-9.]+)", printed, re.MULTILINE)[1]
    char_lm.runs("eval xl --mode chunks --tgt_len 32", f"^{found} bits per character$")
    char_lm.runs("context xl --mode blocks --lengths 5,20 --data text --eval_split 1 --out blocks.svg", "^ +20 ")
    char_lm.runs("context xl other --data text --eval_split 0.2 --tokens 20 --lengths 2,4")


NO_CONTEXTS = [
    ("xl --lengths 4,8,8", "--lengths: 8 after 8, expected them to rise"),
    ("xl --lengths 0", "--lengths: 0 after 0, expected them to rise"),
    ("xl vanilla --lengths 9", "--lengths: 9, but vanilla has learned positions for only 8"),
    ("xl --lengths 8,100000", "--lengths: 100000, expected less than the"),
    ("xl --lengths some", "--lengths"),
    ("xl --mode chunks", "--mode chunks, expected exact or blocks"),
    ("xl --tokens 0", "--tokens 0, expected at least 1"),
    ("xl --mode blocks --tokens 5", "--tokens: --mode blocks scores the whole text"),
    ("xl missing", "missing/best.safetensors: no such file"),
    ("xl --data missing", "missing: No such file"),
    ("xl --out xl", "--out xl: expected the name of a file"),
    ("", "RUN"),
    ("xl other", "other: scored on another text than xl; --data gives all runs the same text"),
]


def draws_nothing_that_cannot_be():
    for command, cases in ("attention", NO_MAPS), ("positions", NO_DISTANCES), ("context", NO_CONTEXTS):
        char_lm.refuses_each([(f"{command} {flags}", text) for flags, text in cases])


# --- Names that mean something to a shell or to XML are only names.


def takes_names_as_they_are():
    for name in "|echo>PWNED #", "$(echo>PWNED)", "<b>&amp; %s":
        shutil.copytree("shaw", name)
        for command in "plot", "context", "attention --text line", "positions":
            char_lm.runs(f"{command} '{name}' --out '{name}.svg'")
            check(is_well_formed(f"{name}.svg"), f"{command} makes a malformed {name}.svg")
        check(not os.path.exists("PWNED"), f"a command in the name {name} was run")
    char_lm.runs("plot '<b>&amp; %s' --out names.svg")
    shows("names.svg", "&lt;b&gt;&amp;amp; %s")
    # Bytes that XML cannot hold are shown by their numbers.
    name = as_text(b"bell\x07 tab\t line\nhigh\xff \xef\xbf\xbf")
    shutil.copytree("shaw", name)
    char_lm.runs(f"plot '{name}' --out control.svg")
    shows("control.svg", r"bell\x07 tab\x09 line\x0Ahigh\xFF \xEF\xBF\xBF")
    check(is_well_formed("control.svg"), "control characters make a picture malformed")


# --- Pictures are whole files of their own.


def writes_whole_pictures():
    """What lies beside one, whatever its name, stays; a link to elsewhere is not followed."""
    write("beside.svg.draft", "mine")
    write("elsewhere", "mine")
    os.symlink("elsewhere", "linked.svg.draft")
    for name in "beside", "linked":
        char_lm.runs(f"plot xl --out {name}.svg")
        check(read(f"{name}.svg.draft") == "mine", f"{name}.svg.draft was changed")
    check(not any(name.startswith(".shiftgrad") for name in os.listdir(".")), "a temporary file was left")
    # The same numbers make the same picture, and an old one stays if a new one cannot be drawn.
    for name in "first", "second":
        char_lm.runs(f"plot xl --out {name}.svg")
    check(read("first.svg") == read("second.svg"), "two pictures of one run differ")
    char_lm.refuses("plot missing --out first.svg", "missing/metrics.jsonl: No such file")


run(train, inspects, plots, plots_no_broken_metrics, draws_maps, prints_weights, draws_distances, scores_contexts,
    scores_contexts_as_eval_does, draws_nothing_that_cannot_be, takes_names_as_they_are, writes_whole_pictures)
