"""What the peers' steps share: they read a case that peers.py wrote, and print their losses and milliseconds."""
import json
import sys
import time
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import rounds  # noqa: E402

CHECKED = 3  # steps, the first with the weights that all start from
PATIENCE = 10  # seconds: half of it are for the steps that are timed


def batches(case):
    """Rows of random places of the text, [B, T + 1], as int32, without an end."""
    *_, length, batch = case["shape"]
    random, text = numpy.random.default_rng(1), case["text"]
    while True:
        starts = random.integers(len(text) - length, size=batch)
        yield text[starts[:, None] + numpy.arange(length + 1)]


def streams(case):
    """Rows of `batch` streams of the text, each of which goes on where it ended."""
    *_, length, batch = case["shape"]
    text = case["text"][: len(case["text"]) // batch * batch].reshape(batch, -1)
    while True:
        for begin in range(0, text.shape[1] - length, length):
            yield text[:, begin : begin + length + 1]


def seen(array):
    """A sum of an array, in which each place has a weight of its own, and the size that it is compared with.

    Of a loss, both are the loss."""
    array = numpy.asarray(array, float).ravel()
    size = float(numpy.linalg.norm(array))
    return float(array @ numpy.cos(numpy.arange(array.size))), size


def run(make_step, version, warm):
    """Prints what the step gives and takes that make_step makes for the case and the precision of the command line.

    A step returns arrays, the loss first, and has ended when it returns. `warm` of them compile. If one behind them
    takes longer than PATIENCE, it is the last."""
    file, precision = sys.argv[1:3]
    rounds.keep_large_blocks()
    with numpy.load(file) as arrays:
        step = make_step(dict(arrays), precision)
    found, times = [], [0]
    while len(found) < CHECKED and (len(found) <= warm or times[-1] < 1e3 * PATIENCE):
        start = time.perf_counter()
        arrays = step()
        times.append(1e3 * (time.perf_counter() - start))
        found.append(list(map(seen, arrays)))
    runs = min(9, int(1e3 * PATIENCE / 2 / times[-1]))
    times = rounds.timed(step, runs) if runs else times[-1:]
    print(json.dumps({"seen": found, "milliseconds": times, "version": version}))
