"""Gives two programs the same requests, and checks that they give the same answers, to the bit: the
library in WebAssembly, and a portable build of it for this machine that computes with vectors of the same
length.

    compare.py LIBRARY.js study [INSTRUCTION_SET]
"""

import base64
import json
import pathlib
import random
import subprocess
import sys

LINES = pathlib.Path(__file__).parents[3] / "examples/book/lines.js"

TRAINING = {"batch_size": 8, "block_size": 32, "mem_len": 32, "max_iters": 2000}
MODEL = {"d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 256}
MIXERS = [
    {"type": "transformer_xl_attention"},
    {"type": "shaw_attention", "max_distance": 16},
    {"type": "aft", "form": "conv", "window": 8},
    {"type": "local_rnn", "window": 8},
]
PAIR_MODEL = {"d_model": 32, "n_encoder_layer": 1, "n_decoder_layer": 1, "n_head": 2, "d_inner": 64,
              "encoder_mixer": {"type": "transformer_xl_attention"}, "decoder_mixer": {"type": "multi_head_attention"}}
LONG, SHORT = 100, 20


def nonsense(count):
    words = random.Random(7)
    choice = ["the ", "cat ", "sat ", "on ", "a ", "mat ", "and ", "then\n"]
    return "".join(words.choice(choice) for _ in range(count))


def tensor(*shape):
    numbers = random.Random(len(shape))
    count = 1
    for size in shape:
        count *= size
    return {"shape": shape, "values": [numbers.uniform(-1, 1) for _ in range(count)]}


def requests():
    yield {"do": "train", "steps": 1}  # refused: no training has begun
    yield {"do": "run_layer", "layer": "rel_shift", "config": {},
           "tensors": {"input.x": tensor(1, 4, 7), "grad_output": tensor(1, 4, 7)}}
    yield {"do": "views", "tensor": tensor(4, 7), "steps": [["pad_left"], ["rel_shift_view"], ["reverse", 1]],
           "grad_output": tensor(4, 7)}
    text = nonsense(15000)
    for n, mixer in enumerate(MIXERS):
        training = TRAINING if n == 0 else TRAINING | {"mem_len": 0}
        yield {"do": "begin", "text": text, "model": MODEL | {"mixer": mixer}, "training": training}
        yield {"do": "train", "steps": LONG if n == 0 else SHORT}
        yield {"do": "attention", "text": "the cat sat"}
        yield {"do": "write", "prompt": "the ", "length": 40, "temperature": 0}
        if n == 0:
            yield from inside_and_on(text[:300])


    for exhibit in ("as it should be", "the diagonal counted twice"):
        yield {"do": "begin", "text": text, "model": MODEL, "training": TRAINING,
               "exhibit": {"form": "Music, two-way", "mistake": exhibit}}
        yield {"do": "train", "steps": SHORT}
        yield {"do": "score_in_order", "text": text, "blocks": 4}
        yield {"do": "fill_in", "text": "the cat sat on a mat and then"}
    yield {"do": "train_pairs", "pairs": [["ab", "ba"], ["abc", "cba"]], "model": PAIR_MODEL, "training": {},
           "steps": SHORT}
    yield {"do": "beam_search", "source": "abc", "width": 3, "length_penalty": 0.6, "max_length": 5}
    chorales = sorted((LINES.parents[1] / "studies/bach/book").glob("*.safetensors"))
    assert chorales, "there are no models of chorales"
    for model in chorales:
        yield {"do": "open", "file": base64.b64encode(model.read_bytes()).decode()}
        yield {"do": "write", "prompt": "\n", "length": 300, "seed": 2, "top_p": 0.95, "observed": True,
               "given": ["J", "", "", ""] * 8}
        yield {"do": "attended", "token": 299}
    yield {"do": "worked_example", "layer": "cross_attention", "T": 2, "M": 4}


def inside_and_on(text):
    yield {"do": "inside", "text": "the cat"}
    how = {"text": text, "segment": 32, "memory": 32}
    yield {"do": "losses_by_place", "mode": "memory"} | how
    yield {"do": "read", "mode": "sliding"} | how
    yield {"do": "read_on", "mode": "sliding", "count": 50}
    yield {"do": "learn", "text": "the cat", "learning_rate": 0.01, "parameter": "output.bias"}


def answers(command, asked):
    lines = "".join(json.dumps(request) + "\n" for request in asked)
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def main(library, *native):
    asked = list(requests())
    ours, others = answers(["node", LINES, library], asked), answers(native, asked)
    assert len(ours) == len(others) == len(asked), (len(ours), len(others), len(asked))
    assert "error" in ours[0] and "tensors" in ours[1], ours[:2]
    for request, a, b in zip(asked, ours, others):
        assert a == b, (request, a, b)
        assert request is asked[0] or "error" not in a, a
        if "losses" in a:
            print(f"{len(a['losses'])} steps: loss {a['losses'][-1]:.6f}")
            assert a["losses"][-1] < a["losses"][0], a


main(*sys.argv[1:])
