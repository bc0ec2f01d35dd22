#!/usr/bin/env python3
"""Uses char_lm, the program that the first argument names, as people do, and as they should not."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from cases import TESTS, Program, changed, check, lines, metrics, read, run, write
from checkpoints import broken_copies, read_checkpoint, write_checkpoint

char_lm = Program(sys.argv[1])
TINY = """--data text --n_layer 1 --n_head 2 --n_embd 16 --block_size 8 --batch_size 4 --max_iters 20 --warmup_iters 2
    --eval_interval 10 --log_interval 1"""
OLD_RUN = f"{TESTS}/support/data/old_run"


def train(changes, *expected):
    return char_lm.runs(f"train {changed(TINY, changes)}", *expected)


def compare(changes, *expected):
    return char_lm.runs(f"compare {changed(TINY, '--max_iters 2 --length 9 --out_dir compared')} {changes}", *expected)


# --- What it is for.


def trains_scores_and_writes():
    write("text", lines(300))
    for model in "transformer", "transformer_xl":
        train(
            f"--model {model} --out_dir {model}",
            r"^step 10/20  loss [0-9.]+  [0-9.]+k tokens/s  ETA 0:",
            r"^step 20  train [0-9.]+  validation [0-9.]+ nats = [0-9.]+ bits per character")
        files = sorted(os.listdir(model))
        check(files == ["best.safetensors", "last.safetensors", "metrics.jsonl"], f"files of {model}: {files}")
        check(read(f"{model}/metrics.jsonl").count("gradient_norm") == 20, f"metrics of {model}")
        train(f"--model {model} --out_dir first --log_interval 8 --overwrite")
        steps = re.findall(r'"step":(\d+),"loss"', read("first/metrics.jsonl"))
        check(steps == ["1", "8", "16"], f"steps in the metrics of {model}: {steps}")

        scored = char_lm.runs(f"eval {model}", r"\A[0-9]\.[0-9]{3} bits per character$")
        check(scored.count("\n") == 5, f"eval: {scored}")
        char_lm.runs(f"eval {model} --checkpoint last --data text")

        writing = f"generate {model} --prompt 'line ' --length 30 --seed"
        first = char_lm.runs(f"{writing} 5")
        check(len(first) == 36, f"generate: {first}")
        check(char_lm.runs(f"{writing} 5") == first, "another text from the same seed")
        check(char_lm.runs(f"{writing} 6") != first, "the same text from another seed")
        char_lm.runs(f"generate {model} --length 3 --temperature 0")


def reads_a_run_of_an_earlier_time():
    char_lm.runs(f"eval {OLD_RUN} --data {OLD_RUN}/sentences.txt", r"^3\.047 bits per character")
    char_lm.runs(f"generate {OLD_RUN} --prompt 'The cat' --length 30")
    char_lm.runs(f"inspect {OLD_RUN}")


def reads_a_run_of_a_newer_version():
    """It says so and goes on where the format is the same, and refuses another format, or a setting that it does not know."""
    own = char_lm.runs("--version").split()[1]
    newer = f"written by shiftgrad 1000.2.3, which is newer than this {own}"
    train("--out_dir newer --max_iters 10")
    check(read("newer/metrics.jsonl").splitlines()[0].endswith(f'"shiftgrad_version":"{own}"}}'), "version in metrics")
    char_lm.runs("inspect newer", f"^written by +shiftgrad {re.escape(own)}$")
    for name in "best", "last":
        facts, tensors = read_checkpoint(f"newer/{name}.safetensors")
        check(facts["shiftgrad_version"] == own, f"version in {name}: {facts}")
        write_checkpoint(f"newer/{name}.safetensors", facts | {"shiftgrad_version": "1000.2.3"}, tensors)
    write("newer/metrics.jsonl", read("newer/metrics.jsonl").replace(f'"{own}"', '"1000.2.3"'))
    for command in "inspect newer", "generate newer --length 3", "report newer --out newer.html", "plot newer":
        done = char_lm.succeeds(command)
        check(done.errors.count("\n") == 1 and newer in done.errors, f"{command}: {done.errors}")
    done = char_lm.succeeds("train --resume --out_dir newer --max_iters 20")
    check(newer in done.errors, f"resumed: {done.errors}")
    versions = re.findall('"shiftgrad_version":"(.*?)"', read("newer/metrics.jsonl"))
    check(versions == ["1000.2.3", own], f"versions in metrics: {versions}")
    for change in {"format": "shiftgrad-2"}, {"model": facts["model"][:-1] + ',"news":1}'}:
        os.makedirs("refused", exist_ok=True)
        write_checkpoint("refused/best.safetensors", facts | {"shiftgrad_version": "1000.2.3"} | change, tensors)
        char_lm.refuses("generate refused", f"; {newer}")


def samples_as_people_expect():
    prompted = "generate transformer --prompt 'line ' --length 30 --seed 5"
    first = char_lm.runs(prompted)
    write("prompt", "line ")
    from_file = "generate transformer --length 30 --seed 5 --prompt_file"
    check(char_lm.runs(f"{from_file} prompt") == first, "another text from --prompt_file")
    check(char_lm.runs(f"{from_file} -", stdin="line ") == first, "another text from standard input")
    three = char_lm.runs(f"{prompted} --num_samples 3")
    check(three.startswith(first), f"another first sample: {three}")
    check(three.startswith(char_lm.runs(f"{prompted} --num_samples 2")), "samples depend on how many there are")
    check(len(three) == 3 * 36 + 2 * 16, f"three samples: {three}")
    stopped = char_lm.runs("generate transformer --prompt 'line 1' --length 500 --seed 5 --stop 'ne'")
    check(stopped.endswith("ne\n"), f"not at its stop: {stopped}")
    check(stopped.count("ne") == 2, f"beyond its stop: {stopped}")
    greedy = char_lm.runs("generate transformer --length 20 --temperature 0")
    for same in "--top_p 1e-9", "--min_p 1":
        written = char_lm.runs(f"generate transformer --length 20 {same} --temperature 2")
        check(written == greedy, f"{same} is not greedy")
    penalty = "--repetition_penalty 1.5 --repetition_window 8"
    written = char_lm.runs(f"generate transformer --length 20 --temperature 0 {penalty}")
    check(written != greedy, f"no effect of {penalty}")


# Options that make another of a model.
MODELS = """
    transformer --position sinusoid --activation relu --norm_first false --tie_embedding false
    transformer --position rope --mem_len 8 --window 6
    transformer --position alibi --d_inner 20
    transformer --position none
    transformer_xl --position learned --max_positions 30
    transformer_xl --clamp_len 3 --window 5 --d_head 3 --norm_first false
    transformer_xl --content_bias false --embedding_scale true --final_norm false
    transformer_xl --position learned --max_positions 3 --position_bias false
    transformer_xl --projection_bias true --position learned
    transformer_xl --tie_position_biases true --embedding_scale true --norm_first false
    labml --max_positions 20
    music_transformer --max_seq 4 --relative_bias false --mem_len 8
    aft --window 3
    aft --form full --max_len 10 --factor_rank 2
    aft --form simple
    aft --form conv
    local_rnn --cell lstm --mem_len 5
    r_transformer --window 3 --cell rnn
    r_transformer --rnn_layers 2 --final_norm false
"""


def turned_models():
    """Every model, with each yes or no of its own turned round."""
    said = char_lm.runs("train --help")
    models = re.search(r"^  --model ([^=]*)=", said, re.MULTILINE)[1].split("|")
    options = re.search(r"^Options of some models:\n(.*?)^$", said, re.MULTILINE | re.DOTALL)[1]
    yes_or_no = r"^  --(\w+) BOOL +([a-z_, ]+): .*\(default: ([a-z]+)\)$"
    for flag, named, default in re.findall(yes_or_no, options, re.MULTILINE):
        for model in named.replace(",", "").split():
            if model in models:
                yield f"{model} --{flag} {'true' if default == 'false' else 'false'}"


def trains_every_model():
    turned = list(turned_models())
    check(len(turned) >= 10, f"yes and no: {turned}")
    for model in turned + MODELS.strip().splitlines():
        train(f"--model {model} --max_iters 2 --out_dir any --overwrite")
        char_lm.runs("eval any")
        written = char_lm.runs("generate any --prompt 'line ' --length 40")
        check(len(written) == 46, f"generate of {model}: {written}")


def compares_models():
    compare(
        "--seeds 2 labml aft:form=conv,window=3",
        r"^\| labml \| [0-9]+ \| 2 \| [0-9]\.[0-9]{3} \| [0-9]\.[0-9]{3} \| [0-9]+ \| [0-9]+ \| [0-9.]+ \|$",
        r"^\| aft:form=conv,window=3 \|")
    table = read("compared/comparison.csv")
    check(sum("," in row for row in table.splitlines()) == 3, f"table: {table}")
    runs = sorted(os.listdir("compared/labml"))
    check(runs == ["1337", "1338"], f"runs: {runs}")
    check(">aft:form=conv,window=3</text>" in read("compared/comparison.svg"), "names in the plot")

    compare("--seeds 1 --overwrite labml local_rnn --parameters 5000")
    rows = [row.split(",") for row in read("compared/comparison.csv").splitlines()[1:]]
    check(all(4900 <= float(row[1]) <= 5100 and row[4] == "" for row in rows), f"not of 5000 parameters: {rows}")

    # Flags of the training that only one model gets.
    compare("--seeds 1 --overwrite labml:learning_rate=2e-3 labml")
    own, common = first_rate("labml:learning_rate=2e-3"), first_rate("labml")
    check(common > 0 and own == 2 * common, f"learning rates: {own}, {common}")


def first_rate(model):
    return float(re.search(r'"step":1,.*"learning_rate":([^,]*)', read(f"compared/{model}/1337/metrics.jsonl"))[1])


def scores_in_other_modes():
    for model, own_mode in [
        ("transformer", "--mode chunks --tgt_len 8"),
        ("transformer", "--mode memory"),
        ("transformer_xl", "--mode memory --tgt_len 8 --mem_len 8 --ext_len 0 --clamp_len 0"),
    ]:
        score = char_lm.score(model)
        check(char_lm.score(f"{model} {own_mode}") == score, f"eval {model} {own_mode} is not its own mode")
    char_lm.runs("eval transformer --mode sliding")
    char_lm.runs("eval transformer_xl --mode chunks")
    char_lm.runs("eval transformer_xl --mem_len 32 --tgt_len 4 --ext_len 4 --clamp_len 6")
    # After a first block that is fed again whole, the memory is empty; it is saved and read all the same.
    train("--model transformer_xl --ext_len 8 --max_iters 1 --out_dir fed_again")
    char_lm.runs("train --resume --max_iters 2 --out_dir fed_again")
    # A prompt may be longer than a model has positions.
    write("prompt", " line" * 300)
    train("--model labml --max_iters 2 --out_dir any --overwrite")
    char_lm.runs("generate any --prompt_file prompt --mem_len 10 --length 3")
    # A window sees as many tokens of memory as it needs, however the text is cut.
    narrow = char_lm.score("transformer_xl --window 4 --mem_len 3 --tgt_len 1")
    same = char_lm.score("transformer_xl --window 4 --mem_len 20 --tgt_len 7")
    check(same == narrow, "a window of 4 depends on the memory")
    check(char_lm.score("transformer_xl --window 1") != narrow, "a window of 1 scores as one of 4 does")


def computes_the_same_on_one_thread():
    def course(folder):
        return char_lm.runs(f"generate {folder} --checkpoint last --length 200 --temperature 0"), metrics(folder)

    train("--out_dir again --threads 1")
    check(course("again") == course("transformer_xl"), "another result on one thread")


def names_what_slows_products_down():
    """It is said once, and only where something is computed."""
    if "avx512vl" not in read("/proc/cpuinfo"):
        return
    slower = {**os.environ, "OPENBLAS_CORETYPE": "Haswell"}
    done = char_lm.succeeds("eval again", env=slower)
    check(re.fullmatch(r"char_lm: OPENBLAS_CORETYPE=Haswell keeps .*\n", done.errors), done.errors)
    done = char_lm.run("eval missing", env=slower)
    check(done.status != 0, "a missing run")
    check("OPENBLAS_CORETYPE" not in done.errors, done.errors)
    done = char_lm.run("inspect again", env=slower)
    check(done.status == 0 and done.errors == "", f"inspect with other kernels: {done.errors}")


def helps():
    """Every flag that has a value has a unit and a default."""
    char_lm.runs("--help", "Exit status: 0 ")
    for command in "train", "eval", "generate", "compare", "inspect", "plot", "positions", "context", "report":
        said = char_lm.runs(f"{command} --help")
        for flag in re.findall(r"^  --.*(?:\n {10}.*)*", said, re.MULTILINE):
            if not re.match("  --(resume|overwrite|json|add_characters|follow)", flag):
                described = re.match(r"  --[a-z_0-9]+ [A-Za-z0-9|_=,.]+(=[^ ]|\s.*\(default: )", flag, re.DOTALL)
                check(described, f"no unit or default, in {command}: {flag}")


# --- What it is not for: a command, and what its error says.

REFUSED = [
    ("", "expected train, eval, generate, compare, inspect, plot, attention, positions, context, convert or report"),
    ("sing", "sing: no such command"),
    ("trian", "trian: no such command, did you mean train?"),
    ("train --learning-rate 1", "--learning-rate: no such flag, did you mean --learning_rate?"),
    ("train --lerning_rate=1", "--lerning_rate: no such flag, did you mean --learning_rate?"),
    ("train --wide", "--wide: no such flag"),
    ("train more", "more: unexpected argument"),
    ("eval transformer --chekpoint last", "--chekpoint: no such flag, did you mean --checkpoint?"),
    ("train --batch_size many", "batch_size"),
    ("eval", "OUT_DIR"),

    ("train --data missing --out_dir transformer", "missing: No such file"),
    ("train --data . --out_dir transformer", ".: a folder"),
    ("train --data empty --out_dir transformer", "empty: an empty file"),
    ("train --data mark --out_dir transformer", "mark: a byte order mark without a text"),
    ("train --data short --model transformer --out_dir new", "short: 5 characters to train on, too few for "),
    ("train --data short --model transformer_xl --out_dir new", "short: 5 characters to train on, too few for "),
    (f"train {TINY} --out_dir text", "--out_dir text: "),
    (f"train {TINY} --out_dir text/run", "--out_dir text/run: "),

    ("eval missing", "missing/best.safetensors: "),
    ("eval transformer --checkpoint first", "--checkpoint first, expected best or last"),
    ("eval transformer --data missing", "missing: No such file"),
    ("eval transformer --data unknown",
     "unknown: the model does not know 4 characters: 'U', 'k', 'o', 'w'; the first is number 1"),
    ("eval transformer --data line", "a text of 1 tokens"),
    ("eval transformer --mode exact", "--mode exact, expected memory, chunks or sliding"),
    ("eval transformer --clamp_len 4", "--clamp_len: the model's attention has no clamp_len"),
    ("eval local_rnn --window 4", "--window: the model's attention has no window"),
    ("eval r_transformer --window 4", "--window: the model's attention has no window"),
    ("eval transformer_xl --mode chunks --ext_len 8", "--ext_len 8: expected 0 with --mode chunks"),
    ("eval transformer --tgt_len 9", "but the model has 8 positions"),
    ("eval transformer --mem_len 4",
     "--mem_len 4: the model has absolute positions, which start anew in each block, expected 0"),
    ("eval transformer --ext_len 1",
     "--ext_len 1: with --tgt_len 8, expected at most 0, as the model was trained on 8 positions"),
    ("eval transformer --tgt_len 9 --ext_len 1", "--ext_len 1: with --tgt_len 9, expected at most 0"),
    ("eval transformer --tgt_len 9 --mode memory", "but the model has 8 positions"),

    ("generate transformer --prompt 'lé'", "--prompt: the model does not know the character U+00E9 'é', number 2"),
    ("generate transformer --prompt ''", "an empty prompt"),
    ("generate transformer --prompt_file unknown_prompt",
     "unknown_prompt: the model does not know the character 'X', number 6"),
    ("generate transformer --prompt_file missing", "missing: No such file"),
    ("generate transformer --prompt_file prompt --prompt line", "--prompt excludes --prompt_file"),
    ("generate transformer --stop X", "--stop: the model does not know the character 'X', number 1"),
    ("generate transformer --num_samples 0", "--num_samples 0"),
    ("generate transformer --top_p 0", "top_p 0"),
    ("generate transformer --repetition_penalty 0", "repetition_penalty 0"),

    (f"compare {TINY} labml:form=full", "--form: --model labml has no such option"),
    (f"compare {TINY} labml:wide", "labml:wide: "),
    (f"compare {TINY} lbaml", "r_transformer, did you mean labml?"),
    (f"compare {TINY} labml:max_postions=3",
     "labml:max_postions=3: --max_postions: no such flag, did you mean --max_positions?"),
    (f"compare {TINY} transformer_xl:tie_position_biases=true,position=learned",
     "--tie_position_biases: there are no two biases to share"),
    (f"compare {TINY} labml:tie_position_biases=true", "--tie_position_biases: --model labml has no such option"),
    (f"compare {TINY} labml --parameters 100", "--parameters 100 is too few"),
    (f"compare {TINY} labml --seeds 0", "--seeds 0"),
    (f"compare {TINY} labml --length 0", "--length 0"),
]

# Flags of a training.
REFUSED_FLAGS = [
    ("--n_embd 18 --n_head 4", "--n_embd 18 is not divisible by --n_head 4"),
    ("--model lstm", "--model lstm, expected transformer, "),
    ("--model transformer --mem_len 4", "--mem_len 4: this --model transformer has no memory"),
    ("--model transformer --position sinusoid --layer_positions true",
     "--layer_positions: expected --position learned"),
    ("--model labml --form full", "--form: --model labml has no such option"),
    ("--model aft --form simple --max_len 8", "aft: max_len with form simple"),
    ("--position learnt", "none, rope or alibi, did you mean learned?"),
    ("--schedule cosin", "--schedule cosin, expected constant, linear, cosine, "),
    ("--schedule cosin", "did you mean cosine?"),
    ("--optimizer lion", "--optimizer lion, expected adamw, adam or sgd"),
]

# Flags that are not -1, and what takes them.
AT_LEAST_0 = [
    (f"train {TINY} --out_dir transformer", """n_layer n_head n_embd block_size batch_size mem_len max_iters
        learning_rate min_lr warmup_iters lr_decay_iters weight_decay beta1 grad_clip eval_interval eval_iters
        save_interval log_interval dropout threads"""),
    ("eval transformer_xl", "tgt_len mem_len ext_len clamp_len window batch_size"),
    ("generate transformer",
     "length temperature top_k top_p min_p repetition_penalty repetition_window mem_len seed"),
]


def refuses_what_cannot_be_meant():
    for name, text in [("empty", ""), ("mark", "\ufeff"), ("short", "short\n"), ("line", "line"),
                       ("unknown", "Unknown\n"), ("unknown_prompt", "line X")]:
        write(name, text)
    for model in "local_rnn", "r_transformer":
        train(f"--model {model} --max_iters 2 --out_dir {model}")
    char_lm.refuses_each(REFUSED)
    for flags, expected in REFUSED_FLAGS:
        char_lm.refuses(f"train {changed(TINY, flags)} --out_dir transformer", expected)
    for command, flags in AT_LEAST_0:
        char_lm.refuses_values(command, flags, -1, "{}")
    for flag in "data=text", "val_data=text", "eval_split=0.2", "vocab=characters", "out_dir=x", "seed=1":
        char_lm.refuses(f"compare {TINY} labml:{flag}", f"labml:{flag}: --{flag.partition('=')[0]}: no such flag")
    for text, expected in [
        ("line X", "standard input: the model does not know the character 'X', number 6"),
        ("", "--prompt_file -: nothing on standard input"),
    ]:
        char_lm.refuses("generate transformer --prompt_file -", expected, stdin=text)


def refuses_broken_checkpoints():
    for _ in broken_copies("transformer/best.safetensors", [
            (b"shiftgrad-1", b"shiftgrad-9"), (b"embedding.weight", b"embedding.wreck")]):
        for command in "eval", "generate":
            char_lm.refuses(f"{command} broken", "broken/best.safetensors: ")


def fails_under_way():
    """What does has status 1."""
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(char_lm.words("generate transformer"), stdout=full, stderr=subprocess.PIPE)
        check(done.returncode == 1, "status of a full disk")
        check(done.stderr.count(b"\n") == 1, f"a full disk: {done.stderr}")
    done = char_lm.run(f"train {TINY} --out_dir diverged --optimizer sgd --learning_rate 1e30 --grad_clip 0")
    check(done.status == 1, "status of a run that diverges")
    check(done.errors.count("\n") == 1, f"a run that diverges: {done.errors}")


run(trains_scores_and_writes, reads_a_run_of_an_earlier_time, reads_a_run_of_a_newer_version, samples_as_people_expect,
    trains_every_model, compares_models, scores_in_other_modes, computes_the_same_on_one_thread, names_what_slows_products_down, helps,
    refuses_what_cannot_be_meant, refuses_broken_checkpoints, fails_under_way)
