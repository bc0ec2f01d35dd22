#!/usr/bin/env python3
"""Times how fast shiftgrad and llama.cpp write and read, in turn, with GPT-2's models of two sizes.

    tests/bench/llama.py BUILD_FOLDER [--folder FOLDER] [--rounds N] [--threads 1 2] [--only TEXT] [--results FILE]

The build needs -Dbenchmarks=true, this script pip, CMake, a compiler and numpy. The first run fetches the source of
llama-cpp-python, which has llama.cpp, builds its two benchmarks for this CPU and writes models of random weights with
its gguf package, all in FOLDER. In floats its weights are F32, in bfloat16 BF16. A round times ours, then theirs, in
tokens a second: one text and four at once that go on behind 200 tokens, and a prompt of 512. Each runs five times, of
which the fastest counts, since others use the machine's memory. What is printed of each is the median of the rounds,
and of ours over theirs the median of the rounds' ratios with the least and the greatest.
It counts against ours that a token is drawn, where theirs are any, and that the cache is copied once. With --only,
other rows of the table stay.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples/studies"))
import tables  # noqa: E402

PACKAGE = "llama-cpp-python==0.3.36"
PRECISIONS = {"float32": "F32", "bfloat16": "BF16"}
SIZES = {"L6 H6 d384": (6, 6, 384, 32), "L12 H12 d768": (12, 12, 768, 16)}  # layers, heads, channels, tokens to write
WORK = ["one text", "four texts", "a prompt"]
VOCABULARY, POSITIONS, BEFORE, PROMPT, BATCH, RUNS = 96, 1024, 200, 512, 256, 5


def run(*command, **how):
    """What a program printed. OpenBLAS chooses its own kernels."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    words = list(map(str, command))
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, env=environment, text=True, **how).stdout


def source(folder):
    """The sources of llama.cpp, which are fetched and unpacked where they are not there."""
    if not list(folder.glob("llama_cpp_python-*/")):
        run(sys.executable, "-m", "pip", "download", "--no-binary", ":all:", "--no-deps", "-d", folder, PACKAGE)
        run("tar", "xzf", *folder.glob("llama_cpp_python-*.tar.gz"), "-C", folder)
    [found] = folder.glob("llama_cpp_python-*/vendor/llama.cpp")
    return found


def build(folder):
    """Builds llama.cpp for this CPU."""
    if not (folder / "build/bin/llama-batched-bench").exists():
        names = ["LLAMA_CURL", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_SERVER", "BUILD_SHARED_LIBS"]
        settings = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", *(f"-D{name}=OFF" for name in names)]
        run("cmake", "-S", source(folder), "-B", folder / "build", *settings)
        run("cmake", "--build", folder / "build", "--parallel", "2", "--target", "llama-bench", "llama-batched-bench")


def write_model(path, precision, layers, heads, channels):
    """Writes a GPT-2 with random weights."""
    import gguf
    import numpy
    random = numpy.random.default_rng(1)
    model = gguf.GGUFWriter(path, "gpt2")
    model.add_block_count(layers)
    model.add_context_length(POSITIONS)
    model.add_embedding_length(channels)
    model.add_feed_forward_length(4 * channels)
    model.add_head_count(heads)
    model.add_layer_norm_eps(1e-5)
    model.add_tokenizer_model("none")
    model.add_vocab_size(VOCABULARY)

    def matrix(name, *shape):
        values = (0.02 * random.standard_normal(shape)).astype(numpy.float32)
        kind = gguf.GGMLQuantizationType[PRECISIONS[precision]]
        model.add_tensor(f"{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)

    def vector(name, size, value=0.0):
        model.add_tensor(name, numpy.full(size, value, numpy.float32))

    def norm(name):
        vector(f"{name}.weight", channels, 1.0)
        vector(f"{name}.bias", channels)

    matrix("token_embd", VOCABULARY, channels)
    model.add_tensor("position_embd.weight", numpy.zeros((POSITIONS, channels), numpy.float32))
    norm("output_norm")
    for n in range(layers):
        norm(f"blk.{n}.attn_norm")
        norm(f"blk.{n}.ffn_norm")
        for name, rows, columns in [("attn_qkv", 3, 1), ("attn_output", 1, 1), ("ffn_up", 4, 1), ("ffn_down", 1, 4)]:
            matrix(f"blk.{n}.{name}", rows * channels, columns * channels)
            vector(f"blk.{n}.{name}.bias", rows * channels)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


def model_file(folder, size, precision):
    """The model of a size in a precision, which is written where it is not there."""
    path = folder / f"{size.replace(' ', '-')}-{precision}.gguf"
    if not path.exists():
        sys.path.insert(0, str(source(folder) / "gguf-py"))
        new = path.with_suffix(".new")
        write_model(new, precision, *SIZES[size][:3])
        new.rename(path)
    return path


def ours(options, size, precision, threads):
    """Our tokens a second for each kind of work."""
    command = [f"{options.build}/tests/bench/bench", "--only", f"gpt {size}", "--runs", RUNS, "--json"]
    report = json.loads(run(*options.before, *command, "--threads", threads, "--precision", precision))
    return {case["name"].rpartition(", ")[2]: 1e3 * case["tokens"] / min(case["milliseconds"])
            for case in report["cases"]}


def theirs(options, size, precision, threads):
    """Those of llama.cpp."""
    length = SIZES[size][3]
    common = ["-m", model_file(options.folder, size, precision), "-t", threads]
    programs = options.folder / "build/bin"
    quiet = {"stderr": subprocess.DEVNULL}

    def speed(*work):
        report = run(*options.before, programs / "llama-bench", *common, *work, "-r", RUNS, "-o", "json", **quiet)
        [test] = json.loads(report)
        return max(test["samples_ts"])
    found = {"one text": speed("-p", 0, "-n", length, "-d", BEFORE)}
    found["a prompt"] = speed("-p", PROMPT, "-n", 0, "-ub", BATCH)
    work = ["-c", 4 * POSITIONS, "-npp", BEFORE, "-ntg", length, "-npl", 4, "-tb", threads]
    four = []
    while len(four) < RUNS:  # now and then it ends before it has printed
        command = [*options.before, programs / "llama-batched-bench", *common, *work, "--output-format", "jsonl"]
        lines = run(*command, **quiet)
        four += [json.loads(line)["speed_tg"] for line in lines.splitlines() if line.startswith("{")]
    return {**found, "four texts": max(four)}


def rows(options, size, precision, threads):
    """Of each kind of work ours, theirs and the ratio."""
    rounds = [(ours(options, size, precision, threads), theirs(options, size, precision, threads))
              for _ in range(options.rounds)]
    for work in WORK:
        ratios = [mine[work] / other[work] for mine, other in rounds]
        speeds = [round(statistics.median(side[work] for side in sides)) for sides in zip(*rounds)]
        spread = [round(ratio, 2) for ratio in (statistics.median(ratios), min(ratios), max(ratios))]
        yield [f"{size}, {work}, {precision}, {threads}", *speeds, spread]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build", help="build folder of shiftgrad")
    parser.add_argument("--folder", type=Path, default=Path("llama"), help="where llama.cpp and the models are")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="", help="sizes with this in their name")
    parser.add_argument("--before", default="", help="words before each timed command, such as 'chrt -r 10'")
    parser.add_argument("--results", metavar="FILE", help="keeps the table in a file of JSON, too")
    options = parser.parse_args()
    options.before = options.before.split()
    options.folder.mkdir(parents=True, exist_ok=True)
    build(options.folder)
    columns = ["model, work, precision, threads", "ours", "llama.cpp",
               {"title": "ours / llama.cpp", "form": "{:.2f} ({:.2f} to {:.2f})"}]
    about = tables.measured(f"tests/bench/llama.py build --rounds {options.rounds}") | {"llama.cpp": PACKAGE}
    print(tables.table({"columns": columns, "rows": []}))
    for size in SIZES:
        for precision in PRECISIONS:
            for threads in options.threads:
                for one in rows(options, size, precision, threads) if options.only in size else []:
                    print(tables.table({"columns": columns, "rows": [one]}).splitlines()[-1], flush=True)
                    if options.results:
                        tables.keep_row(options.results, "llama", about, columns, one)


if __name__ == "__main__":
    main()
