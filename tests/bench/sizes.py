#!/usr/bin/env python3
"""Says what trainings of GPT-2's sizes take beside PyTorch's: memory, a start, a save and a load.

    tests/bench/sizes.py BUILD_FOLDER [--folder FOLDER] [--rounds N] [--only TEXT] [--before WORDS] [--results FILE]

A round trains two steps with char_lm, resumes that, and does both in PyTorch, in a process each; of several rounds the
least counts. The texts are random characters. The peak is the process's resident memory at its greatest. A start ends
when a model is there to be trained, and a load when one can go on; both begin with the process, PyTorch's with an
import. A save writes weights and moments. The least that a training needs are weights, gradients and moments.
"""
import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/studies"))
import tables  # noqa: E402

# Layers, heads, channels, vocabulary, tokens, rows.
SIZES = {
    "L6 H6 d384 T256 B4": (6, 6, 384, 96, 256, 4),
    "L12 H12 d768 T16 B1": (12, 12, 768, 96, 16, 1),
    "L12 H12 d768 T256 B4": (12, 12, 768, 96, 256, 4),
    "L6 H8 d512 T4096 B1": (6, 8, 512, 96, 4096, 1),
    "L12 H12 d768 V50257 T256 B4": (12, 12, 768, 50257, 256, 4),
    "L24 H16 d1024 V50257 T1024 B1": (24, 16, 1024, 50257, 1024, 1),
}
NUMBERS = ["peak", "start", "save", "load"]


def pytorch(folder, size, resumes):
    """Trains two steps and saves, or loads what was saved, and prints a word when it is ready and has saved."""
    sys.path.insert(0, str(Path(__file__).parent))
    import torch
    import pytorch_cases as cases
    layers, heads, width, vocabulary, length, batch = SIZES[size]
    model = cases.models.Transformer(vocabulary, width, layers, heads, length)
    optimizer = cases.adamw(model, (0.9, 0.99), weight_decay=0.1)
    file = folder / "pytorch.pt"
    if resumes:
        saved = torch.load(file)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    print("ready", flush=True)
    for _ in range(0 if resumes else 2):
        rows = torch.randint(vocabulary, (batch, length + 1))
        cases.update(model, optimizer, cases.language_loss(model(rows[:, :-1]), rows[:, 1:]))
    print("trained", flush=True)
    if not resumes:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    print("saved", flush=True)


def lines_of(options, *command):
    """The lines that a program prints, each with the seconds until then, its peak in GB and all its seconds."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    start = time.monotonic()
    with subprocess.Popen([*options.before, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=environment, text=True) as process:
        lines = [(line, time.monotonic() - start) for line in process.stdout]
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
    if status:
        sys.exit(f"{' '.join(map(str, command))}: status {status}")
    return lines, used.ru_maxrss * 1024 / 1e9, time.monotonic() - start


def moment(lines, word):
    return next(seconds for line, seconds in lines if word in line)


def text_of(folder, vocabulary):
    """A file of random characters, in which each is at least once."""
    path = folder / f"{vocabulary}.txt"
    codes = [code for code in range(0x20, 0x20000) if not 0xD800 <= code < 0xE000][:vocabulary]
    path.write_text("".join(map(chr, codes + random.Random(1).choices(codes, k=100_000))))
    return path


def ours(options, size):
    """Our peak, start, save and load."""
    layers, heads, width, vocabulary, length, batch = SIZES[size]
    program, run = options.build / "examples/apps/char_lm/char_lm", options.folder / size.replace(" ", "-")
    flags = f"""--vocab characters --model transformer --position learned --n_layer {layers} --n_head {heads}
        --n_embd {width} --block_size {length} --batch_size {batch} --eval_iters 1 --overwrite"""
    lines, peak, _ = lines_of(options, program, "train", "--data", text_of(options.folder, vocabulary), *flags.split(),
                              "--max_iters", 2, "--out_dir", run)
    resumed, *_ = lines_of(options, program, "train", "--resume", "--out_dir", run)
    return [peak, moment(lines, "parameters"), moment(lines, "saved in") - moment(lines, "step 2  train"),
            moment(resumed, "continues")]


def theirs(options, size):
    """Those of PyTorch."""
    command = sys.executable, __file__, options.build, "--folder", options.folder, "--pytorch", size
    lines, peak, _ = lines_of(options, *command)
    resumed, *_ = lines_of(options, *command, "--resume")
    return [peak, moment(lines, "ready"), moment(lines, "saved") - moment(lines, "trained"), moment(resumed, "ready")]


def parameters(size):
    """How many there are: GPT-2's blocks, its last norm, positions, and one table of tokens for both ends."""
    layers, _, width, vocabulary, length, _ = SIZES[size]
    return layers * (12 * width + 13) * width + (2 + length + vocabulary) * width


def row(options, size):
    rounds = [(ours(options, size), theirs(options, size)) for _ in range(options.rounds)]
    cells = [[round(min(side), 2) for side in zip(*sides)] for sides in zip(*rounds)]
    pairs = [number for pair in zip(*cells) for number in pair]
    return [size, round(parameters(size) / 1e6, 1), round(16 * parameters(size) / 1e9, 2), *pairs]


def parser_of(doc, folder, only):
    """The flags that growth.py, kinds.py and scaling.py have, too; the folder is where there is a text for it."""
    parser = argparse.ArgumentParser(description=doc.split("\n", 1)[0])
    parser.add_argument("build", type=Path, help="build folder of shiftgrad")
    if folder:
        parser.add_argument("--folder", type=Path, default=Path("sizes"), help=folder)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help=f"{only} with this in their name")
    parser.add_argument("--before", type=str.split, default=[], help="words before each command, such as 'chrt -f 40'")
    parser.add_argument("--results", metavar="FILE", help="keeps the table in a file of JSON, too")
    return parser


def print_rows(options, name, columns, rows, script=None):
    """Prints each row of a table when it is made, and keeps it."""
    about = tables.measured(f"tests/bench/{script or name}.py build --rounds {options.rounds}")
    print(tables.table({"columns": columns, "rows": []}))
    for one in rows:
        print(tables.table({"columns": columns, "rows": [one]}).splitlines()[-1], flush=True)
        if options.results:
            tables.keep_row(options.results, name, about, columns, one)


def main():
    parser = parser_of(__doc__, "where texts and runs are", "sizes")
    parser.add_argument("--pytorch", choices=SIZES, help=argparse.SUPPRESS)
    parser.add_argument("--resume", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.pytorch:
        return pytorch(options.folder, options.pytorch, options.resume)
    options.folder.mkdir(parents=True, exist_ok=True)
    columns = ["model", {"title": "parameters, millions", "form": "{:.1f}"}, {"title": "least, GB", "form": "{:.2f}"}]
    for number in NUMBERS:
        unit = "GB" if number == "peak" else "s"
        columns += [{"title": title, "form": "{:.2f}"} for title in (f"{number}, {unit}", "PyTorch")]
    print_rows(options, "sizes", columns, (row(options, size) for size in SIZES if options.only in size))


if __name__ == "__main__":
    main()
