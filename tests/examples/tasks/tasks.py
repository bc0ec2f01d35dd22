#!/usr/bin/env python3
"""Runs the programs of examples/tasks, in the folder that the first argument names, at sizes of a second. The second is
char_lm, which trains what the server serves."""

import concurrent.futures
import json
import math
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples/tasks"))
import clients

programs, char_lm = map(os.path.abspath, sys.argv[1:3])
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)


def run(*words):
    """Returns the status, what is printed, and what is said of a mistake."""
    ended = subprocess.run([f"{programs}/{words[0]}", *map(str, words[1:])], capture_output=True, text=True)
    return ended.returncode, ended.stdout, ended.stderr


def printed(*words):
    status, text, error = run(*words)
    assert status == 0 and not error, (words, status, text, error)
    return text


def numbers(pattern, text):
    return [float(number) for number in re.findall(pattern, text)]


def save(path, tensors):
    """Writes safetensors of (dtype, shape, bytes), each a multiple of eight bytes."""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def digits():
    """Digit n is a bright row, or for 8 and 9 a bright column."""
    def image(n):
        return bytes(16 if (y == n if n < 8 else x == n - 5) else 0 for y in range(8) for x in range(8))

    tensors = {}
    for part, times in ("train", 20), ("validation", 2), ("test", 2):
        tensors[part + ".labels"] = "I64", [10 * times], struct.pack("<10q", *range(10)) * times
        tensors[part + ".images"] = "U8", [10 * times, 8, 8], b"".join(image(n) for n in range(10)) * times
    save("digits", tensors)
    text = printed("digits", "digits", "digits.model", 1, 200)
    assert numbers(r"of test (\S+) % wrong", text)[0] < 30, text
    assert text == printed("digits", "digits", "again.model", 1, 200)
    assert open("digits.model", "rb").read() == open("again.model", "rb").read()


def sunspots():
    """The cycles are those of a sine."""
    series = [50 + 50 * math.sin(2 * math.pi * t / 11) for t in range(310)]
    save("sunspots", {"sunspots": ("F32", [310], struct.pack("<310f", *series))})
    text = printed("sunspots", "sunspots", "sunspots.model", 1, 150)
    assert numbers(r"\n1 ahead: (\S+)", text)[0] < 40, text


def adding_and_copying():
    errors = numbers(r"squared error (\S+)", printed("adding", 10, 300))
    assert len(errors) == 3 and errors[-1] < errors[0] / 2, errors
    guessing = math.log(8)
    for positions in "relative", "rope", "learned":
        text = printed("copying", positions, "copied", 5, 100)
        assert numbers(r"over copied letters (\S+)", text)[-1] < guessing, (positions, text)
    for positions in "sinusoid", "none":
        assert numbers(r"over copied letters (\S+)", printed("copying", positions, "copied", 5, 5))[0] < 2 * guessing
    losses = numbers(r"over all places (\S+),", printed("copying", "relative", "all", 5, 300))
    assert losses[-1] < losses[0], losses


def fine_tuning():
    with open("text", "w") as file:
        file.write("the cat sat on the mat and the rat ran off with the hat of the bat\n" * 24)
    text = printed("fine_tuning", "text", "text", 1, 40, 10)
    ways = {way: (float(last), float(mean)) for way, last, mean in re.findall(r"(.+): last (\S+) .*, mean (\S+) ", text)}
    assert len(ways) == 6 and ways["one rate, cosine"] < ways["from nothing, cosine"], text
    assert all(abs(mean - last) < 1 for last, mean in ways.values()), text


def serving():
    subprocess.run([char_lm, "train", "--data", "text", "--out_dir", "run", "--max_iters", "30", "--n_layer", "1",
                    "--n_embd", "16", "--n_head", "2", "--block_size", "32"], check=True, capture_output=True)
    server = subprocess.Popen([f"{programs}/serving", "run/last.safetensors", "door"], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "listening at door\n"

    talks = [["the cat", "the rat"], ["a mat", "on"], ["hat", "bat"], ["sat", "ran", "the mat"]]
    alone = [clients.ask("door", lines) for lines in talks]
    assert {len(answer) for answers in alone for answer in answers} == {202}, alone
    with socket.socket(socket.AF_UNIX) as gone:  # before its answer has come
        gone.connect("door")
        gone.sendall(b"the cat\n" * 9)
    assert clients.ask("door", ["THE CAT"])[0].startswith("error: line: ")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda lines: clients.ask("door", lines), talks)) == alone
    server.send_signal(signal.SIGTERM)
    assert server.wait(10) == 0 and not os.path.exists("door")


def mistakes():
    for words, line in [
            (["digits"], "digits: expected DATA as argument 1"),
            (["digits", "/nowhere", "m"], "digits: /nowhere: no such file"),
            (["digits", "digits", "m", "one"], 'digits: SEED "one", expected a whole number from 0 on'),
            (["digits", "sunspots", "m"], 'digits: missing tensors "test.images", "test.labels", "train.images", '),
            (["sunspots", "digits", "m"], 'sunspots: missing tensors "sunspots"; unexpected tensors "test.images", '),
            (["sunspots", "sunspots", "no/m", 1, 1], "sunspots: no/m: its folder cannot be opened: "),
            (["adding", "-3"], 'adding: T "-3", expected a whole number from 0 on'),
            (["adding", "1"], "adding: T 1, expected at least 2"),
            (["copying", "odd", "all"],
             'copying: POSITIONS: "odd", expected none, relative, rope, sinusoid or learned'),
            (["copying", "rope", "some"], 'copying: LOSS: "some", expected all or copied'),
            (["copying", "rope", "all", 0], "copying: T 0, expected at least 1"),
            (["fine_tuning", "text"], "fine_tuning: expected SMALL as argument 2"),
            (["serving", "digits", "door"], "serving: digits: "),
            (["serving", "run/last.safetensors", "no/door"], "serving: no/door: cannot listen here")]:
        status, text, error = run(*words)
        assert status == 1 and error.startswith(line) and error.count("\n") == 1, (words, status, error)


for task in digits, sunspots, adding_and_copying, fine_tuning, serving, mistakes:
    start = time.monotonic()
    task()
    print(f"{task.__name__}: {time.monotonic() - start:.1f} s", flush=True)
