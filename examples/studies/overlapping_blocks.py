"""Scores a text by char_lm in overlapping blocks, so that models with absolute positions and relative ones have an equal
context. It is a text of the blocks, one after another, that char_lm scores as separate blocks; only the last losses of
each count, and all of the first."""

import subprocess
import tempfile
from pathlib import Path


def losses_in_blocks(char_lm, run, text, block, threads):
    """Returns -log p of each byte of the text as char_lm scores it in separate blocks, 0 for the first."""
    with tempfile.TemporaryDirectory() as folder:
        path, losses = Path(folder, "text"), Path(folder, "losses")
        path.write_bytes(text)
        command = [char_lm, "eval", run, "--data", path, "--eval_split", "1", "--losses", losses, "--mode", "chunks",
                   "--tgt_len", str(block), "--threads", str(threads)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr.strip())
        return [0.0] + [float(line) for line in losses.read_text().split()]


def losses(char_lm, run, text, block, stride, threads):
    """Returns -log p of each byte of the text but the first, in nats. Each has block - stride to block - 1 bytes before it,
    near the start of the text all that there are. The stride is less than the block."""
    last = max(len(text) - block, 0)
    starts = range(0, last + stride, stride)
    found = losses_in_blocks(char_lm, run, b"".join(text[start:start + block] for start in starts), block, threads)
    counted = []
    for n, start in enumerate(starts):
        first = block - stride if start else 1
        counted += found[n * block + first:n * block + len(text[start:start + block])]
    return counted
