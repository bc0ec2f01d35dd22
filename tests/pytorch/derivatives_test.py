"""Derivatives of relative_attention beyond the first, which come from its equation."""

import itertools
import unittest

import torch
from torch.autograd import gradcheck, gradgradcheck

import shiftgrad.torch as sg

B, H, T, K, D, M = 2, 2, 3, 4, 3, 1
shapes = {
    "content_bias": (H, D), "position_bias": (H, D), "position_rows": (K, H, D), "position_queries": (K, 1, D),
    "position_scores": (K, H), "clipped_keys": (2 * M + 1, 1, D), "clipped_values": (2 * M + 1, H, D),
    "key_scores": (B, 1, K), "sink": (H,),
}


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


class Derivatives(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.heads = [leaf(B, H, n, D) for n in (T, K, K)]

    def check(self, terms, seed=None, **options):
        """The second derivatives are those of the first, and these are those of y."""
        causal = options.get("causal", True)
        given = {name: leaf(K + T - 1, *shapes[name][1:]) if shapes[name][0] == K and not causal else leaf(*shapes[name])
                 for name in terms}

        def run(*tensors):
            if seed is not None:
                torch.manual_seed(seed)
            return sg.relative_attention(*tensors[:3], **dict(zip(given, tensors[3:])), **options)

        inputs = (*self.heads, *given.values())
        self.assertTrue(gradcheck(run, inputs, fast_mode=True))
        self.assertTrue(gradgradcheck(run, inputs, fast_mode=True))

    def test_every_term(self):
        self.check(shapes)
        self.check(shapes, causal=False, scale=0.7)
        self.check(())

    def test_what_is_hidden(self):
        for options in ({"window": 2}, {"window": (1, 1)}, {"chunk": (2, 0)}, {"chunk": (2, 1), "window": 2}):
            self.check(("position_rows",), causal=False, **options)
        blind = torch.rand(B, T, K) < 0.4
        blind[0, 1] = True  # a query that sees nothing
        padding = torch.rand(B, K) < 0.3
        self.check(("clipped_values",), causal=False, attention_mask=blind, key_padding_mask=padding)
        self.check(("position_scores",), attention_mask=blind[0], key_padding_mask=padding[:1])

    def test_groups_spans_and_a_soft_cap(self):
        spans = torch.tensor([[[0, 2], [1, 4], [2, 2]]])
        for causal in (True, False):
            self.check(("sink",), causal=causal, spans=spans, soft_cap=0.7)
            self.check((), causal=causal, window=1, always=1, seed=2, dropout_p=0.3)
        self.heads[1:] = leaf(B, 1, K, D), leaf(B, 1, K, D + 2)
        self.check(("position_rows", "position_queries", "key_scores"), soft_cap=1.5, seed=4, dropout_p=0.3)

    def test_dropout_drops_the_same(self):
        self.check(("position_rows", "clipped_values"), seed=5, dropout_p=0.4)
        self.check((), seed=6, dropout_p=0.4, causal=False)

    def test_third_derivatives(self):
        q, k, v = self.heads
        i, j = torch.arange(T)[:, None], torch.arange(K)

        def dense(q):
            score = (q @ k.transpose(2, 3) * D ** -0.5).masked_fill(j > K - T + i, -torch.inf)
            return score.softmax(-1) @ v

        results = []
        for function in (dense, lambda q: sg.relative_attention(q, k, v)):
            derivative = function(q).pow(2).sum()
            for _ in range(3):
                derivative, = torch.autograd.grad(derivative.pow(2).sum(), q, create_graph=True)
                results.append(derivative.detach())
        for a, b in zip(results[:3], results[3:]):
            torch.testing.assert_close(b, a, rtol=1e-8, atol=1e-8)

    def test_inputs_that_depend_on_each_other(self):
        """Each gradient is that of its own place, though k is computed from q."""
        q = leaf(B, H, T, D)
        results = []
        for causal in (False, True):
            k = q * 2
            y = sg.relative_attention(q, k, k + q, causal=causal)
            first, = torch.autograd.grad(y.pow(2).sum(), q, create_graph=True)
            second, = torch.autograd.grad(first.pow(2).sum(), q, retain_graph=True)
            p = (q @ k.transpose(2, 3) * D ** -0.5)
            if causal:
                p = p.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf)
            expected, = torch.autograd.grad((p.softmax(-1) @ (k + q)).pow(2).sum(), q, create_graph=True)
            torch.testing.assert_close(first, expected)
            torch.testing.assert_close(second, torch.autograd.grad(expected.pow(2).sum(), q)[0])

    def test_first_derivatives_keep_their_bits(self):
        q, k, v = self.heads
        loss = sg.relative_attention(q, k, v).pow(2).sum()
        plain = torch.autograd.grad(loss, self.heads, retain_graph=True)
        for a, b in zip(plain, torch.autograd.grad(loss, self.heads, create_graph=True)):
            self.assertTrue(torch.equal(a, b))


if __name__ == "__main__":
    unittest.main()
