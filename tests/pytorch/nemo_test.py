"""sg.accelerate on the attention of NeMo's Conformers: NeMo's own where it is installed, or else one by its equation."""

import copy
import importlib.util
import pickle
import sys
import types
import unittest
from unittest import mock

import torch

import shiftgrad.torch as sg
from shiftgrad.torch import accelerated

B, T, C, H = 2, 11, 12, 3
place = "nemo.collections.asr.parts.submodules.multi_head_attention"


class ByEquation(torch.nn.Module):
    """Has the attributes of NeMo 3.0.0 that accelerate reads, and its arguments."""

    def __init__(self, n_head, n_feat, dropout_rate, pos_bias_u, pos_bias_v, use_pytorch_sdpa=False):
        super().__init__()
        self.h, self.d_k, self.dropout_rate, self.use_pytorch_sdpa = n_head, n_feat // n_head, dropout_rate, use_pytorch_sdpa
        for name in ("linear_q", "linear_k", "linear_v", "linear_out"):
            setattr(self, name, torch.nn.Linear(n_feat, n_feat))
        self.linear_pos, self.dropout = torch.nn.Linear(n_feat, n_feat, bias=False), torch.nn.Dropout(dropout_rate)
        self.pos_bias_u, self.pos_bias_v = (torch.nn.Parameter(torch.zeros(n_head, self.d_k)) for _ in range(2))

    def forward(self, query, key, value, mask, pos_emb, cache=None):
        if cache is not None:
            key = value = torch.cat([cache, key], 1)
        K, n = key.shape[1], query.shape[1]
        q, k, v, p = (x.unflatten(-1, (self.h, self.d_k)) for x in (
            self.linear_q(query), self.linear_k(key), self.linear_v(value), self.linear_pos(pos_emb)))
        row = n - 1 - torch.arange(n)[:, None] + torch.arange(K)  # of the distance between a query and a key
        score = torch.einsum("bihd,bjhd->bhij", q + self.pos_bias_u, k) + torch.einsum(
            "bihd,bijhd->bhij", q + self.pos_bias_v, p[:, row].expand(len(query), -1, -1, -1, -1))
        hidden = torch.zeros(1, 1, n, K, dtype=torch.bool) if mask is None else mask[:, None]
        weights = (score / self.d_k ** 0.5).masked_fill(hidden, -1e4).softmax(-1).masked_fill(hidden, 0)
        y = self.linear_out(torch.einsum("bhij,bjhd->bihd", self.dropout(weights), v).flatten(2))
        return y if cache is None else (y, torch.cat([cache, query], 1)[:, query.shape[1]:])


if importlib.util.find_spec("nemo") is None:
    for end, letter in enumerate(place + "."):
        if letter == ".":
            sys.modules[place[:end]] = types.ModuleType(place[:end])
    ByEquation.__module__, ByEquation.__name__ = place, "RelPositionMultiHeadAttention"
    ByEquation.__qualname__ = ByEquation.__name__
    setattr(sys.modules[place], ByEquation.__name__, ByEquation)

from nemo.collections.asr.parts.submodules.multi_head_attention import RelPositionMultiHeadAttention


def attention(**more):
    module = RelPositionMultiHeadAttention(**{
        "n_head": H, "n_feat": C, "dropout_rate": 0.0, "pos_bias_u": None, "pos_bias_v": None} | more)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-0.4, 0.4)
    return module.double().eval()


def masks():
    """By what they hide, and which options of relative_attention say so."""
    distance = torch.arange(T)[:, None] - torch.arange(T)
    chunk = torch.arange(T) // 4
    chunks = (chunk[:, None] < chunk) | (chunk[:, None] - chunk > 1)
    padded = torch.arange(T) >= torch.tensor([T, T - 3])[:, None]
    padding = padded[:, None] | padded[..., None]  # also of queries that are padding
    yield None, set()
    yield padding, {"key_padding_mask"}
    yield padding | (distance > 3) | (distance < -2), {"key_padding_mask", "window"}
    yield (padding | chunks)[:1], {"chunk"}
    yield torch.rand(B, T, T) < 0.3, {"attention_mask"}


class Conformers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)
        self.x, self.rows = (torch.randn(1, n, C, dtype=torch.float64) for n in (T, 2 * T - 1))
        self.x = self.x.expand(B, -1, -1) * torch.tensor([[[1.0]], [[-0.5]]])
        for limit in (mock.patch.object(accelerated, "LEAST_SCORES", 0),
                      mock.patch.object(accelerated, "relative_attention", wraps=sg.relative_attention)):
            self.kernel = limit.start()
            self.addCleanup(limit.stop)

    def same(self, module, calls, run):
        """Whether an accelerated module gives the same outputs and gradients, by so many calls of the kernel."""
        ours = copy.deepcopy(module)
        self.assertEqual(sg.accelerate(ours), [("", RelPositionMultiHeadAttention)])
        ours, results = pickle.loads(pickle.dumps(ours)), []
        for each in (module, ours):
            self.kernel.reset_mock()
            x = self.x.clone().requires_grad_()
            y = run(each, x)
            results.append([y, *torch.autograd.grad(y.pow(2).sum(), [x, *each.parameters()])])
        self.assertEqual(self.kernel.call_count, calls)
        for a, b in zip(*results, strict=True):
            torch.testing.assert_close(b, a, rtol=0, atol=1e-8)
        self.assertEqual(sg.restore(ours), [("", RelPositionMultiHeadAttention)])

    def test_masks(self):
        for sdpa in (False, True):
            for mask, options in masks():
                with self.subTest(f"{options}, sdpa: {sdpa}"):
                    self.same(attention(use_pytorch_sdpa=sdpa), 1, lambda module, x: module(
                        query=x, key=x, value=x, mask=mask, pos_emb=self.rows))
                    self.assertLessEqual(options, set(self.kernel.call_args.kwargs))
                    self.assertIn("position_rows", self.kernel.call_args.kwargs)

    def test_dropout(self):
        ours = attention(dropout_rate=0.25).train()
        sg.accelerate(ours)
        ours(self.x, self.x, self.x, None, self.rows)
        self.assertEqual(self.kernel.call_args.kwargs["dropout_p"], 0.25)

    def test_calls_that_are_its_own(self):
        """Keys of another sequence, and a cache of streaming."""
        other, past = torch.randn(B, T, C, dtype=torch.float64), torch.randn(B, 4, C, dtype=torch.float64)
        self.same(attention(), 0, lambda module, x: module(x, other, other, None, self.rows))
        rows = torch.randn(1, 2 * (T + 4) - 1, C, dtype=torch.float64)

        def streamed(module, x):
            module.cache_drop_size = 0
            return module(x, x, x, None, rows, cache=past)[0]
        self.same(attention(), 0, streamed)


if __name__ == "__main__":
    unittest.main()
