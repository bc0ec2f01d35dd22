"""Asks the program `study` to look into a model, to read a text in pieces and to search for targets, and checks the
answers against what they have to be: sums, other requests, and a search that knows nothing of this one.

    requests.py PROGRAM
"""

import base64
import json
import math
import pathlib
import subprocess
import sys

TEXT = "abcabbcab" * 12
MODEL = {"d_model": 8, "n_head": 2, "n_layer": 2, "d_inner": 16, "mixer": {"type": "transformer_xl_attention"}}
TRAINING = {"batch_size": 2, "block_size": 4, "mem_len": 4, "learning_rate": 0.01, "warmup_iters": 0}
BEGIN = {"do": "begin", "text": TEXT, "model": MODEL, "training": TRAINING}
PAIRS = {"do": "train_pairs", "steps": 60, "training": {"batch_size": 4, "learning_rate": 0.01, "warmup_iters": 0},
         "pairs": [["ab", "ba"], ["abc", "cba"], ["cb", "bc"], ["c", "c"]],
         "model": {"d_model": 16, "n_encoder_layer": 1, "n_decoder_layer": 1, "n_head": 2, "d_inner": 32,
                   "encoder_mixer": MODEL["mixer"], "decoder_mixer": MODEL["mixer"]}}


def ask(*requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    ran = subprocess.run(sys.argv[1:], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def close(a, b, tolerance=1e-5):
    assert len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b)), (a, b)


def check_inside():
    """The stream is what the parts add, the loss is that of `score`, the logits' gradient is (p - t) / T."""
    _, _, found, scored = ask(BEGIN, {"do": "train", "steps": 20}, {"do": "inside", "text": "abcab"},
                              {"do": "score", "text": "abcab"})
    stages = {stage["name"]: stage for stage in found["stages"]}
    stream = stages["embedding"]["values"]
    for part in [f"blocks.{n}.{part}" for n in range(2) for part in ("mixer", "feed_forward")]:
        close(stages[part + "_sum"]["values"], [a + b for a, b in zip(stream, stages[part]["values"])])
        stream = stages[part + "_sum"]["values"]
    assert math.isclose(found["loss"], scored["nats"], rel_tol=1e-5), (found["loss"], scored)
    assert len(found["attention"]) == 2 and all(len(heads) == 2 for heads in found["attention"])
    targets = [found["vocabulary"].index(letter) for letter in "bcab"]
    assert found["tokens"][1:] == targets and found["entries"] > 20, found
    wanted = [(p - (n % 3 == targets[n // 3])) / 4 for n, p in enumerate(found["probabilities"])]
    close(stages["logits"]["gradient"], wanted)


def check_learn():
    """AdamW as Loshchilov and Hutter write it, over two steps, and a loss that falls."""
    learn = {"do": "learn", "text": "abcab", "learning_rate": 0.01, "parameter": "embedding.weight"}
    inside = {"do": "inside", "text": "abcab"}
    _, before, one, two, after, unknown = ask(BEGIN, inside, learn, learn, inside, learn | {"parameter": "x"})
    assert after["loss"] < before["loss"] and one["shape"] == [3, 8] and two["updates"] == 2
    assert one["after"] == two["before"]
    m, v = [0] * 24, [0] * 24
    for t, step in enumerate((one, two), start=1):
        m = [0.9 * a + 0.1 * g for a, g in zip(m, step["gradient"])]
        v = [0.999 * a + 0.001 * g * g for a, g in zip(v, step["gradient"])]
        close(step["first"], m, 1e-7)
        close(step["second"], v, 1e-7)
        close(step["after"], [w * (1 - 0.01 * 0.01) - 0.01 * (a / (1 - 0.9**t)) / (math.sqrt(b / (1 - 0.999**t)) + 1e-8)
                              for w, a, b in zip(step["before"], m, v)])
    assert unknown["error"] == 'learn: the model has no parameter "x"', unknown


def check_reading():
    """Pieces have the losses of the whole; a window is fed more; the last place of a segment is the window."""
    unseen = "abcabbcabcababcab" * 2

    def read(mode, *counts):
        how = {"mode": mode, "text": unseen, "segment": 4, "memory": 4}
        answers = ask(BEGIN, {"do": "train", "steps": 200}, {"do": "read"} | how,
                      *({"do": "read_on", "mode": mode, "count": count} for count in counts))
        assert answers[2] == {"tokens": 33}, answers[2]
        return sum((answer["nats"] for answer in answers[3:]), []), answers[-1]["fed"]

    for mode in ("chunks", "memory", "sliding"):
        (whole, fed), (parts, _) = read(mode, 100), read(mode, 5, 9, 100, 1)
        close(whole, parts)
        assert len(whole) == 33 and fed == (33 if mode != "sliding" else 1 + 2 + 3 + 4 * 30), (mode, fed)
    by_place = {"do": "losses_by_place", "text": unseen, "segment": 4, "memory": 4}
    _, _, cut, behind, scored, *refused = ask(
        BEGIN, {"do": "train", "steps": 200}, by_place | {"mode": "chunks"}, by_place | {"mode": "memory"},
        {"do": "score", "text": unseen}, by_place | {"mode": "sliding"}, {"do": "read_on", "mode": "memory", "count": 1},
        by_place | {"mode": "chunks", "text": "abcabcab"})
    assert len(cut["nats"]) == len(behind["nats"]) == 4 and cut["nats"] != behind["nats"]
    window = read("sliding", 100)[0][4:]
    assert math.isclose(cut["nats"][3], sum(window) / len(window), rel_tol=1e-5), (cut, window)
    assert cut["nats"][0] > cut["nats"][3], cut
    assert [answer["error"] for answer in refused] == [
        "losses_by_place: mode sliding has no segments", "read_on: nothing is read in this mode",
        "losses_by_place: a text of 8 tokens, expected more than 8"], refused


def check_beam():
    """The steps end with the targets that the library's own search finds."""
    search = {"do": "beam_search", "source": "abc", "width": 3, "max_length": 5}
    trained, *found = ask(PAIRS, *(search | {"length_penalty": alpha} for alpha in (0, 0.6, 1.5)))
    assert "losses" in trained, trained
    for answer in found:
        kept = [one for one in answer["steps"][-1] if one["kept"]]
        assert len(kept) == 3 and all(one["ended"] for one in kept), kept
        assert [one["text"] for one in kept] == [one["text"] for one in answer["targets"]], answer
        for name in ("score", "log_probability"):
            close([one[name] for one in kept], [one[name] for one in answer["targets"]], 1e-4)
        for step in answer["steps"]:
            scores = [one["score"] for one in step]
            assert scores == sorted(scores, reverse=True) and sum(one["kept"] for one in step) == min(3, len(step)), step
    assert found[0]["targets"][0]["text"] == "cba", found[0]
    error = ask(search | {"length_penalty": 0})[0]["error"]
    assert error == "beam_search: no pairs were trained", error


CHORALES = pathlib.Path(__file__).resolve().parents[3] / "examples/studies/bach/book"


def opened(name, *requests):
    """The answers of a model of chorales, of which the first is to opening it."""
    return ask({"do": "open", "file": base64.b64encode((CHORALES / f"{name}.safetensors").read_bytes()).decode()}, *requests)


def check_opened():
    """Trained models write as they were trained to: they end what is given, and agree with themselves when observed."""
    write = {"do": "write", "prompt": "\n", "length": 600, "seed": 3, "top_p": 0.95}
    chorale = "\nJB92JB92JB;2JB;2I@=-I@=-IB=-IB=-GC>/GC>/GB>/GB>/E@@1E@@1E@91E@91"
    losses = {}
    for name in ("music_transformer", "sinusoid"):
        sizes, plain, observed, first, last, scored, refused, beyond = opened(
            name, write, write | {"observed": True}, {"do": "attended", "token": 0}, {"do": "attended", "token": 599},
            {"do": "score", "text": chorale}, {"do": "train", "steps": 1}, {"do": "attended", "token": 600})
        assert sizes == {"parameters": sizes["parameters"], "step": 8000, "vocab_size": 48}, sizes
        assert abs(sizes["parameters"] - 402700) < 500 and len(plain["text"]) == 600
        assert observed == plain, (observed, plain)
        # Absolute positions begin anew with 128 tokens where 256 are used up; distances reach 255 tokens back.
        for answer, keys in ((first, 1), (last, 256 if name == "music_transformer" else 128 + (600 - 256 - 1) % 129)):
            assert len(answer["layers"]) == 4
            for layer in answer["layers"]:
                assert len(layer["heads"]) == 5 and [len(head) for head in layer["heads"]] == [keys] * 5, \
                    (name, keys, [len(head) for head in layer["heads"]])
                for head in layer["heads"]:
                    assert math.isclose(sum(head), 1, rel_tol=1e-5), sum(head)
                close(layer["mean"], [sum(weights) / 5 for weights in zip(*layer["heads"])])
        losses[name] = scored["nats"]
        assert refused["error"] == "train: the model was opened, expected one that `begin` made", refused
        assert beyond["error"] == "attended: token 600 of 600 that were observed", beyond
    assert losses["music_transformer"] < losses["sinusoid"] < 2, losses


def check_given():
    """What is given stands there, and nothing before it changes; a text ends where it is told to."""
    soprano = ["J", "", "", ""] * 4 + ["L", "", "", ""] * 4
    write = {"do": "write", "prompt": "\n", "length": 40, "seed": 1, "observed": True}
    _, song, later, stopped, wrong, unknown, begun = opened(
        "music_transformer", write | {"given": soprano}, write | {"given": soprano[:16]},
        write | {"given": ["J", "", "", "", "\n"], "stop": "\n"}, write | {"given": ["JJ"]}, write | {"given": ["z"]},
        write | {"given": "J"})
    assert song["text"][:32:4] == "JJJJLLLL" and later["text"][:16:4] == "JJJJ" and len(song["text"]) == 40, song
    assert later["text"][:16] == song["text"][:16], (later, song)
    assert len(stopped["text"]) == 5 and stopped["text"][0] == "J" and stopped["text"][-1] == "\n", stopped
    assert wrong["error"] == '"given" has "JJ", expected single characters', wrong
    assert unknown["error"].startswith("given: the model does not know the character 'z'"), unknown
    assert begun["error"] == '"given" is "J", expected another type', begun


def check_refused_files():
    """What is no checkpoint of char_lm is refused in one line, and what was there before stays."""
    data = (CHORALES / "sinusoid.safetensors").read_bytes()
    nonsense = base64.b64encode(data.replace(b"shiftgrad-1", b"shiftgrad-9")).decode()
    files = ["", "####", base64.b64encode(b"no").decode(), base64.b64encode(data[:5000]).decode(),
             base64.b64encode(data[:-1]).decode(), nonsense]
    reasons = ["open: not a safetensors file: is 0 bytes long, expected at least 8",
               'open: "file" has "#", expected a digit of base64',
               "open: not a safetensors file: is 2 bytes long, expected at least 8",
               f"open: not a safetensors file: a header of {int.from_bytes(data[:8], 'little')} bytes in a file of 5000",
               f'open: tensor "output.bias": data_offsets ends at',
               'open: has the format "shiftgrad-9", expected the format shiftgrad-1']
    score = {"do": "score", "text": "abcab"}
    _, before, *answers, after = ask(BEGIN, score, *({"do": "open", "file": file} for file in files), score)
    for answer, reason in zip(answers, reasons, strict=True):
        assert answer["error"].startswith(reason) and "\n" not in answer["error"], (answer, reason)
    assert before == after and "nats" in after, (before, after)


for check in (check_inside, check_learn, check_reading, check_beam, check_opened, check_given, check_refused_files):
    check()
