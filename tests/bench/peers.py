#!/usr/bin/env python3
"""Times steps of JAX, llm.c, MLX and tinygrad, and of PyTorch in ways that compare.py does not try, each in turn with ours.

    tests/bench/peers.py BUILD_FOLDER [--folder FOLDER] [--rounds N] [--only TEXT] [--before WORDS] [--results FILE]

The build needs -Dbenchmarks=true, this script PyTorch, git, a C compiler with OpenMP, and clang for tinygrad. The first
run makes an environment of Python in FOLDER, clones llm.c there and compiles it as its Makefile does:

    pip install jax[cpu]==0.10.2 optax==0.2.8 mlx[cpu]==0.32.4 tinygrad==0.14.0

All start from the same weights, read the same batches, and do what a training step of ours does: forward, backward,
clipping and AdamW. What the first steps give is compared with eager PyTorch in floats; a peer that gives something else
is an error. llm.c has GELU by tanh and does not clip, and so does PyTorch where it is compared with it. A round times
ours and each peer in a process of its own, on two threads. What is printed of each is the median of the rounds' medians,
and of the peer in its faster precision over ours in its own, the median of the rounds' ratios with the least and the
greatest. A row of which the name, such as "transformer L4 H4 d128 T64 B12, JAX", does not have TEXT stays as it was.
"""
import json
import os
import statistics
import sys
from pathlib import Path

import numpy
import torch

import llama
import sizes

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import steps  # noqa: E402
import with_pytorch  # noqa: E402

THREADS = 2
PACKAGES = ["jax[cpu]==0.10.2", "optax==0.2.8", "mlx[cpu]==0.32.4", "tinygrad==0.14.0"]
LLM_C = "https://github.com/karpathy/llm.c", "f1e2ace651495b74ae22d45d1723443fd00ecd3a"
FLAGS = "-Ofast -Wno-unused-result -Wno-ignored-pragmas -Wno-unknown-attributes -march=native -fopenmp -DOMP".split()
PRECISIONS = ["float32", "bfloat16"]
# Relative to the size of what is compared: other orders of sums, and products of numbers with 8 bits.
BOUNDS = {"float32": 1e-4, "bfloat16": 2e-2}
TRANSFORMERS = {"transformer L4 H4 d128 T64 B12": (4, 4, 128, 64, 12), "transformer L6 H6 d384 T256 B8": (6, 6, 384, 256, 8)}
TRANSFORMER_XL = {"transformer_xl L4 H4 d256 T128 M128 B16": (4, 4, 256, 128, 16)}
LAYERS = {"aft full T1024 B2": (1024, 2), "attention T1024 B2": (1024, 2)}
CASES = [*TRANSFORMERS, *TRANSFORMER_XL, *LAYERS]
PEERS = {"JAX": CASES, "llm.c": TRANSFORMERS, "MLX": TRANSFORMERS, "tinygrad": TRANSFORMERS}
WAYS = {f"PyTorch {way}": [*TRANSFORMERS, "attention T1024 B2"] for way in with_pytorch.WAYS}


def environment(folder):
    """The Python that has the peers' packages."""
    if not (folder / "python/bin/python").exists():
        llama.run(sys.executable, "-m", "venv", folder / "python.new")
        llama.run(folder / "python.new/bin/python", "-m", "pip", "install", *PACKAGES)
        (folder / "python.new").rename(folder / "python")
    return folder / "python/bin/python"


def llm_c(folder):
    """The program that takes llm.c's steps."""
    sources, program = folder / "llm.c", folder / "with_llm_c"
    if not sources.exists():
        llama.run("git", "clone", "--quiet", LLM_C[0], sources)
        llama.run("git", "-C", sources, "checkout", "--quiet", LLM_C[1])
    if not program.exists():
        ours = Path(__file__).parent / "peers/with_llm_c.c"
        llama.run(os.environ.get("CC", "cc"), *FLAGS, "-I", sources, ours, "-lm", "-o", program)
    return program


def shapes():
    return TRANSFORMERS | TRANSFORMER_XL


def new_case(name):
    """The arrays of a case: its weights, and its text and shape, or x and the cotangent of the layer."""
    models, random = with_pytorch.models, numpy.random.default_rng(1)
    torch.manual_seed(1)
    if name in LAYERS:
        length, batch = LAYERS[name]
        width, heads = with_pytorch.cases.WIDTH, with_pytorch.cases.HEADS
        model = models.AftTable(width, length) if name.startswith("aft") else models.FusedAttention(width, heads)
        inputs = {each: random.standard_normal((batch, length, width), numpy.float32) for each in ("x", "cotangent")}
    else:
        layers, heads, width, length, batch = shapes()[name]
        if name in TRANSFORMERS:
            model = models.Transformer(with_pytorch.cases.VOCABULARY, width, layers, heads, length)
        else:
            attention = with_pytorch.cases.fast_forms.TransformerXLAttention
            model = models.TransformerXL(attention, with_pytorch.cases.VOCABULARY, width, layers, heads, length)
        text = random.integers(with_pytorch.cases.VOCABULARY, size=400_000).astype(numpy.int32)
        inputs = {"shape": numpy.array(shapes()[name]), "text": text}
        with torch.no_grad():
            model.embedding.weight.mul_(0.1)  # else llm.c's probabilities of most tokens are 0
    return {each: parameter.detach().numpy() for each, parameter in model.named_parameters()} | inputs


def reference(case):
    """What the first steps give in eager PyTorch, in floats."""
    step = with_pytorch.make_step(case, "float32", "eager")
    return [list(map(steps.seen, step())) for _ in range(steps.CHECKED)]


def reference_of_llm_c(case):
    """The same with GELU by tanh, without clipping, and with rows that follow each other."""
    model = with_pytorch.model_of(case)
    for *_, feed_forward in model.blocks:
        feed_forward[1] = torch.nn.GELU("tanh")
    optimizer = with_pytorch.cases.adamw(model, (0.9, 0.99), weight_decay=0.1)
    *_, length, batch = map(int, case["shape"])
    text, found = torch.from_numpy(case["text"]).long(), []
    for first in range(0, steps.CHECKED * batch * length, batch * length):
        part = text[first : first + batch * length + 1]
        loss = with_pytorch.cases.language_loss(model(part[:-1].view(batch, length)), part[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append([steps.seen(loss.detach())])
    return found


def check(name, found, expected, precision):
    """Ends the script where a peer computes something else."""
    for n, (step, wanted) in enumerate(zip(found, expected), 1):
        for (total, size), (wanted_total, wanted_size) in zip(step, wanted):
            off = max(abs(total - wanted_total), abs(size - wanted_size)) / wanted_size
            if not off <= BOUNDS[precision]:
                sys.exit(f"{name}, {precision}: step {n} gives {total:.7g} of size {size:.7g}, "
                         f"expected {wanted_total:.7g} of size {wanted_size:.7g} as in PyTorch")


# The tensors of llm.c's checkpoint: those before the layers, those of all layers by kind, and those behind.
TENSORS = ["0.weight", "0.bias", "1.qkv.weight", "1.qkv.bias", "1.output.weight", "1.output.bias", "2.weight", "2.bias",
           "3.0.weight", "3.0.bias", "3.2.weight", "3.2.bias"]


def write_for_llm_c(folder, case):
    """Writes a checkpoint and a file of tokens, each with a header of 256 numbers."""
    layers, heads, width, length, _ = map(int, case["shape"])
    vocabulary = with_pytorch.cases.VOCABULARY
    names = ["embedding.weight", "position", *(f"blocks.{n}.{tensor}" for tensor in TENSORS for n in range(layers)),
             "norm.weight", "norm.bias"]
    text = case["text"].astype(numpy.uint16)
    headers = {"weights.bin": [20240326, 3, length, vocabulary, layers, heads, width, vocabulary],
               "tokens.bin": [20240520, 1, len(text)]}
    for (file, header), arrays in zip(headers.items(), ([case[name] for name in names], [text])):
        with open(folder / file, "wb") as output:
            for array in (numpy.pad(numpy.array(header, numpy.int32), (0, 256 - len(header))), *arrays):
                output.write(array.tobytes())


def of_llm_c(options, case):
    write_for_llm_c(options.folder, case)
    *_, length, batch = map(int, case["shape"])
    program = options.folder / "with_llm_c"
    command = ["env", f"OMP_NUM_THREADS={THREADS}", program, options.folder / "weights.bin", options.folder / "tokens.bin"]
    lines = llama.run(*options.before, *command, batch, length, 4 if length > 64 else 12).splitlines()
    found = [tuple(map(float, line.split()[1:])) for line in lines if line.startswith("step ")]
    return {"seen": [[(loss, loss)] for loss, _ in found], "milliseconds": [time for _, time in found[1:]], "version": "llm.c"}


def of_python(options, peer, file, precision):
    """What with_jax.py and its siblings print."""
    words = [file, precision]
    if peer in WAYS:
        way = peer.removeprefix("PyTorch ")
        python, script, words = [sys.executable], "pytorch", [*words, way]
        if "jemalloc" in way:
            python = ["env", f"LD_PRELOAD={options.jemalloc}", *python]
    else:
        python, script = [options.folder / "python/bin/python"], peer.lower()
    script = Path(__file__).parent / f"peers/with_{script}.py"
    return json.loads(llama.run(*options.before, *python, script, *words).splitlines()[-1])


def ours(options, name, precision):
    runs = 3 if "L6" in name or "d256" in name else 9
    command = [f"{options.build}/tests/bench/bench", "--only", name, "--runs", runs, "--json", "--threads", THREADS]
    report = json.loads(llama.run(*options.before, *command, "--precision", precision))
    [case] = [case for case in report["cases"] if case["name"] == name]
    return statistics.median(case["milliseconds"])


def precisions_of(peer):
    if peer in ("llm.c", "tinygrad"):
        return PRECISIONS[:1]  # tinygrad's bfloat16 needs a later clang than 14
    return PRECISIONS[1:] if "weights" in peer else PRECISIONS


def measured(options, name, peer):
    """A row: the milliseconds of ours and of the peer in both precisions, and the ratio."""
    case, file = new_case(name), options.folder / f"{name.replace(' ', '-')}.npz"
    numpy.savez(file, **case)
    expected = reference_of_llm_c(case) if peer == "llm.c" else reference(case)
    times = {}
    for _ in range(options.rounds):
        for precision in PRECISIONS:
            times.setdefault(("ours", precision), []).append(ours(options, name, precision))
        for precision in precisions_of(peer):
            done = of_llm_c(options, case) if peer == "llm.c" else of_python(options, peer, file, precision)
            check(f"{name}, {peer}", done["seen"], expected, precision)
            times.setdefault(("peer", precision), []).append(statistics.median(done["milliseconds"]))
    middle = {each: statistics.median(found) for each, found in times.items()}
    mine, theirs = (min((each for each in times if each[0] == side), key=middle.get) for side in ("ours", "peer"))
    ratios = [other / own for other, own in zip(times[theirs], times[mine])]
    cells = [middle.get((side, precision)) for side in ("ours", "peer") for precision in PRECISIONS]
    spread = [round(ratio, 2) for ratio in (statistics.median(ratios), min(ratios), max(ratios))]
    return [f"{name}, {peer}", *(cell and sizes.tables.three_digits(cell) for cell in cells), spread]


def main():
    parser = sizes.parser_of(__doc__, "where the peers and the weights are", "rows")
    parser.set_defaults(folder=Path("peers"))
    parser.add_argument("--jemalloc", default="/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", help="libjemalloc2's library")
    options = parser.parse_args()
    wanted = {table: [(name, peer) for name in CASES for peer in peers
                      if name in peers[peer] and options.only in f"{name}, {peer}"]
              for table, peers in {"peers": PEERS, "pytorch_ways": WAYS}.items()}
    if not any(wanted.values()):
        parser.error(f"--only {options.only}: no row has this in its name")
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    torch.set_num_threads(THREADS)
    environment(options.folder)
    llm_c(options.folder)
    columns = ["case, peer", *(f"{side}, {precision}" for side in ("ours", "peer") for precision in PRECISIONS),
               {"title": "peer / ours", "form": "{:.2f} ({:.2f} to {:.2f})"}]
    for table, rows in wanted.items():
        if rows:
            sizes.print_rows(options, table, columns, (measured(options, *each) for each in rows), "peers")


if __name__ == "__main__":
    main()
