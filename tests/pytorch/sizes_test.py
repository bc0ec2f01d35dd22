"""Sizes of 0: each is computed, or refused by its own name, and the process lives on."""

import itertools
import subprocess
import sys
import unittest

import torch
from layers import forms, inputs, label, randomized

import shiftgrad.torch as sg

sizes = {"B": 2, "H": 2, "T": 3, "K": 5, "D": 4}
terms = ("content_bias", "position_bias", "position_rows", "position_queries", "position_scores", "clipped_keys",
         "clipped_values", "key_scores", "sink")


def heads_and_terms(B, H, T, K, D, causal, wanted=True):
    leaf = lambda *shape: torch.randn(*shape, requires_grad=wanted)
    n = K if causal else max(0, K + T - 1)
    shapes = {"content_bias": (H, D), "position_bias": (H, D), "position_rows": (n, H, D), "position_queries": (n, H, D),
              "position_scores": (n, H), "clipped_keys": (3, H, D), "clipped_values": (3, H, D), "key_scores": (B, H, K),
              "sink": (H,)}
    return [leaf(B, H, T, D), leaf(B, H, K, D), leaf(B, H, K, D)], {name: leaf(*shapes[name]) for name in terms}


def attend(empty, causal, which):
    """A call of relative_attention in which some sizes are 0, forward and backward; returns how it ended."""
    torch.manual_seed(1)
    now = sizes | dict.fromkeys(empty, 0)
    heads, given = heads_and_terms(**now, causal=causal)
    given = {name: given[name] for name in which}
    try:
        y = sg.relative_attention(*heads, **given, causal=causal)
    except ValueError as refusal:
        return str(refusal)
    assert y.shape == heads[0].shape, y.shape
    y.sum().backward()
    for each in (*heads, *given.values()):
        assert each.grad is not None and each.grad.shape == each.shape and each.grad.isfinite().all()
    if not now["K"]:
        assert (y == 0).all()
    return ""


def main():
    """Prints a line before each call, so that the last one is that at which the process died."""
    for count in (1, 2, 5):
        for empty in itertools.combinations(sizes, count):
            for causal in (True, False):
                for which in ((), terms):
                    name = f"{','.join(empty)} causal={causal} terms={len(which)}"
                    print(f"{name}: ", end="", flush=True)
                    print(attend(empty, causal, which), flush=True)


class Attention(unittest.TestCase):
    def test_every_size_of_0(self):
        child = subprocess.run([sys.executable, __file__, "calls"], capture_output=True, text=True)
        lines = child.stdout.splitlines()
        self.assertEqual(child.returncode, 0, f"{lines[-1:]}: {child.stderr[-500:]}")
        self.assertEqual(len(lines), 4 * (5 + 10 + 1))
        for line in lines:
            empty, _, refusal = line.partition(": ")
            if refusal:
                self.assertRegex(refusal, "^relative_attention: ", line)
                # A size that the call cannot do without; never another operation's words.
                self.assertTrue({"H", "D", "T", "K"} & set(empty.split()[0].split(",")), line)


class Layers(unittest.TestCase):
    def test_no_members_and_no_tokens(self):
        for name, config, width in forms():
            for B, T, M in ((0, 3, 0), (2, 0, 0), (0, 0, 0), (2, 0, 3), (0, 2, 3)):
                with self.subTest(label(name, config), B=B, T=T, M=M):
                    layer = randomized(name, config, torch.float32)
                    given = inputs(name, config, width, torch.float32, B=B, T=T, M=M)
                    x = given["x"].requires_grad_()
                    y = layer(**given)
                    y.sum().backward()
                    self.assertEqual((y.shape, x.grad.shape), (x.shape, x.shape))
                    for parameter in layer.parameters():
                        self.assertTrue(parameter.grad is not None and (parameter.grad == 0).all())

    def test_widths_of_0_are_named(self):
        for name, config, _ in forms():
            for key in ("d_model", "n_head", "d_head", "d_inner"):
                for value in (0, -1):
                    if key in config:
                        with self.subTest(label(name, config), key=key), self.assertRaisesRegex(
                                ValueError, f"^{name}: [^\n]*{key}[^\n]*{value}[^\n]*$"):
                            sg.layer(name, **config | {key: value})


if __name__ == "__main__":
    main() if sys.argv[1:] == ["calls"] else unittest.main()
