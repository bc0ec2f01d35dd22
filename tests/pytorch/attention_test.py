"""relative_attention against its equation, written out with dense tensors."""

import itertools
import math
import re
import unittest

import torch

import shiftgrad.torch as sg

B, H, D = 2, 2, 4


def dense(q, k, v, content_bias=None, position_bias=None, position_rows=None, position_queries=None,
          position_scores=None, clipped_keys=None, clipped_values=None, key_scores=None, sink=None, scale=None, causal=True,
          window=None, chunk=None, always=None, spans=None, soft_cap=None,
          key_padding_mask=None, attention_mask=None):
    T, K = q.shape[2], k.shape[2]
    k, v = (each.repeat_interleave(H // each.shape[1], 1) for each in (k, v))
    delta = K - T + torch.arange(T)[:, None] - torch.arange(K)[None]  # [T, K]
    with_bias = lambda bias: q if bias is None else q + bias[:, None]
    score = with_bias(content_bias) @ k.transpose(-1, -2)
    clipped = lambda table: table[(-delta).clamp(-(len(table) // 2), len(table) // 2) + len(table) // 2]
    # The first row is for δ = K - 1. Hidden keys may be beyond the table.
    row = (K - 1 - delta)
    if position_rows is not None:
        rows = position_rows[row.clamp(max=len(position_rows) - 1)]  # [T, K, H, D]
        score = score + torch.einsum("bhid,ijhd->bhij", with_bias(position_bias), rows.expand(T, K, H, D))
    if position_queries is not None:
        rows = position_queries[row.clamp(max=len(position_queries) - 1)]
        score = score + torch.einsum("bhjd,ijhd->bhij", k, rows.expand(T, K, H, D))
    if clipped_keys is not None:
        rows = clipped(clipped_keys).expand(T, K, H, D)
        score = score + torch.einsum("bhid,ijhd->bhij", with_bias(position_bias), rows)
    if position_scores is not None:
        score = score + position_scores[row.clamp(max=len(position_scores) - 1)].permute(2, 0, 1)
    if key_scores is not None:
        score = score + key_scores[:, :, None]
    hidden = torch.zeros(B, T, K, dtype=torch.bool)
    if window is not None:
        left, right = window if isinstance(window, tuple) else (window - 1, window - 1)
        hidden = hidden | (delta > left) | (delta < -right)
    if chunk is not None:
        size, left_chunks = chunk
        ahead = ((K - T + torch.arange(T)) // size)[:, None] - (torch.arange(K) // size)[None]
        hidden = hidden | (ahead < 0) | (ahead > left_chunks)
    if always is not None:
        hidden = hidden & (torch.arange(K) >= always)
    if causal:
        hidden = hidden | (delta < 0)
    if spans is not None:
        hidden = hidden | ~((spans[..., :1] <= torch.arange(K)) & (torch.arange(K) < spans[..., 1:]))
    if key_padding_mask is not None:
        hidden = hidden | key_padding_mask[:, None]
    if attention_mask is not None:
        hidden = hidden | attention_mask
    score = score * (1 / math.sqrt(D) if scale is None else scale)
    if soft_cap is not None:
        score = soft_cap * torch.tanh(score / soft_cap)
    score = score.masked_fill(hidden[:, None], -math.inf)
    if sink is not None:
        score = torch.cat([score, sink[:, None, None].expand(B, H, T, 1)], -1)
    p = score.softmax(-1)[..., :K].nan_to_num(0)
    y = p @ v
    if clipped_values is not None:
        y = y + torch.einsum("bhij,ijhd->bhid", p, clipped(clipped_values).expand(T, K, H, -1))
    return y


def terms(n, heads, which, K=None):
    shapes = {
        "content_bias": (H, D), "position_bias": (H, D), "position_rows": (n, heads, D),
        "position_queries": (n, heads, D), "position_scores": (n, H), "clipped_keys": (5, heads, D), "clipped_values": (3, heads, D),
        "key_scores": (B, heads, K or n), "sink": (H,),
    }
    return {name: torch.randn(*shapes[name], dtype=torch.float64) for name in which}


class Grouped(torch.nn.Module):
    def forward(self, q, k, v):
        return sg.relative_attention(q, k, v)


class RelativeAttention(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def heads(self, T, K, groups=H, E=D):
        shapes = (B, H, T, D), (B, groups, K, D), (B, groups, K, E)
        return [torch.randn(*shape, dtype=torch.float64) for shape in shapes]

    def check(self, T, K, which, heads=H, groups=H, E=D, **options):
        causal = options.get("causal", True)
        tensors = self.heads(T, K, groups, E)
        given = terms(K if causal else K + T - 1, heads, which, K)
        if "clipped_values" in given:
            given["clipped_values"] = torch.randn(3, heads, E, dtype=torch.float64)
        leaves = [each.requires_grad_() for each in (*tensors, *given.values())]
        y, expected = (f(*tensors, **given, **options) for f in (sg.relative_attention, dense))
        self.assertEqual(y.shape, (B, H, T, E))
        cotangent = torch.randn_like(y)
        got = torch.autograd.grad(y, leaves, cotangent)
        wanted = torch.autograd.grad(expected, leaves, cotangent)
        for name, a, b in zip(["y", "q", "k", "v", *given], [y, *got], [expected, *wanted]):
            torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11, msg=lambda text: f"{name}: {text}")

    def test_all_terms_are_those_of_the_equation(self):
        every = ("content_bias", "position_bias", "position_rows", "position_queries", "position_scores",
                 "clipped_keys", "clipped_values", "key_scores", "sink")
        for T, K, causal in itertools.product((1, 4), (4, 6), (True, False)):
            with self.subTest(T=T, K=K, causal=causal):
                self.check(T, K, every, causal=causal)
                self.check(T, K, every, heads=1, causal=causal, scale=0.3, window=3)
                self.check(T, K, (), causal=causal)
        for term in every:
            if term != "position_bias":
                with self.subTest(term):
                    self.check(3, 5, (term,))

    def test_windows_to_both_sides_and_chunks(self):
        for causal in (True, False):
            for options in ({"window": (2, 1)}, {"window": (0, 3)}, {"chunk": (2, 0)}, {"chunk": (3, 1)},
                            {"chunk": (2, 1), "window": (1, 1)}):
                for T, K in ((5, 5), (4, 7)):
                    with self.subTest(causal=causal, T=T, **options):
                        self.check(T, K, ("position_rows", "position_scores"), causal=causal, **options)
        q, k, v = self.heads(200, 200)
        for options in ({"window": (30, 5)}, {"chunk": (16, 2)}):
            y = torch.compile(sg.relative_attention, fullgraph=True)(q, k, v, causal=False, **options)
            torch.testing.assert_close(y, dense(q, k, v, causal=False, **options), rtol=1e-11, atol=1e-11)

    def test_groups_of_heads_and_values_of_any_width(self):
        for groups, E, causal in itertools.product((1, 2), (D, 7), (True, False)):
            with self.subTest(groups=groups, E=E, causal=causal):
                self.check(3, 5, (), groups=groups, E=E, causal=causal)
                self.check(3, 5, ("position_rows", "position_queries", "clipped_values", "sink"), groups=groups, E=E,
                           causal=causal)
        q, k, v = self.heads(30, 40, groups=1, E=9)
        y = torch.compile(sg.relative_attention, fullgraph=True)(q, k, v)
        torch.testing.assert_close(y, dense(q, k, v), rtol=1e-11, atol=1e-11)
        exported = torch.export.export(Grouped(), (q, k, v)).module()
        self.assertTrue(torch.equal(exported(q, k, v), sg.relative_attention(q, k, v)))

    def test_spans_and_first_keys(self):
        spans = torch.tensor([[[0, 2], [2, 5], [3, 3], [0, 5]], [[1, 4], [0, 0], [0, 5], [4, 5]]])
        for causal, each in itertools.product((True, False), (spans, spans[1:], spans.int())):
            with self.subTest(causal=causal, shape=each.shape, dtype=each.dtype):
                self.check(4, 5, ("position_scores", "sink"), causal=causal, spans=each)
                self.check(4, 5, (), causal=causal, spans=each, window=2, always=1)
        for causal, options in itertools.product((True, False), ({"window": 1}, {"chunk": (2, 0)}, {"window": (0, 1)})):
            for always in (1, 2, 9):
                with self.subTest(causal=causal, always=always, **options):
                    self.check(4, 5, ("position_rows",), causal=causal, always=always, **options)

    def test_a_soft_cap(self):
        for causal in (True, False):
            self.check(4, 6, (), causal=causal, soft_cap=0.5)
            self.check(4, 6, ("position_rows", "key_scores", "sink"), causal=causal, soft_cap=1, window=3, groups=1)

    def test_a_huge_window_hides_nothing(self):
        for causal in (True, False):
            q, k, v = self.heads(4, 6)
            expected = sg.relative_attention(q, k, v, causal=causal)
            for window in (6, 2**31, 2**62, 2**63 - 2, 2**63 - 1):
                got = sg.relative_attention(q, k, v, causal=causal, window=window)
                self.assertTrue(torch.equal(got, expected), window)

    def test_a_scale_must_fit_the_tensors(self):
        q, k, v = (each.float() for each in self.heads(3, 4))
        with self.assertRaisesRegex(ValueError, r"^relative_attention: a scale of 1e\+300, beyond the range[^\n]*$"):
            sg.relative_attention(q, k, v, scale=1e300)

    def test_masks_hide(self):
        padding, hidden = torch.rand(B, 5) < 0.4, torch.rand(B, 4, 5) < 0.4
        for mask in (hidden, hidden[:1], hidden[0], hidden[:, :1]):
            self.check(4, 5, ("position_scores",), causal=False, attention_mask=mask, key_padding_mask=padding)
        self.check(4, 5, ("clipped_values",), attention_mask=torch.ones(4, 5, dtype=torch.bool))

    def test_padding_of_one_row_is_that_of_all(self):
        q, k, v = self.heads(4, 5)
        row = torch.tensor([[False, True, False, False, True]])
        got = sg.relative_attention(q, k, v, key_padding_mask=row)
        self.assertTrue(torch.equal(got, sg.relative_attention(q, k, v, key_padding_mask=row.repeat(B, 1))))
        layer, x = sg.layer("multi_head_attention", d_model=8, n_head=2), torch.randn(3, 5, 8)
        expected = layer(x, key_padding_mask=row.repeat(3, 1))
        self.assertTrue(torch.equal(layer(x, key_padding_mask=row), expected))
        compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
        self.assertTrue(torch.equal(compiled(x, key_padding_mask=row), expected))

    def test_it_is_scaled_dot_product_attention_without_terms(self):
        q, k, v = self.heads(5, 5)
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.testing.assert_close(sg.relative_attention(q, k, v), expected)

    def test_views_of_a_packed_projection_need_no_care(self):
        packed = torch.randn(B, 5, 3 * H * D, dtype=torch.float64, requires_grad=True)
        split = lambda part: part.view(B, 5, H, D).transpose(1, 2)
        for function in (sg.relative_attention, dense):
            function(*map(split, packed.chunk(3, -1))).pow(2).sum().backward()
        # Twice the gradient came together.
        both = packed.grad.clone()
        packed.grad = None
        dense(*map(split, packed.chunk(3, -1))).pow(2).sum().backward()
        torch.testing.assert_close(both, 2 * packed.grad)

    def test_dropout_drops_by_torchs_seed(self):
        q, k = torch.randn(1, 1, 400, D), torch.randn(1, 1, 400, D)
        v = torch.ones(1, 1, 400, D)
        draw = lambda: sg.relative_attention(q, k, v, dropout_p=0.25)
        torch.manual_seed(3)
        first, second = draw(), draw()
        torch.manual_seed(3)
        self.assertTrue(torch.equal(draw(), first))
        self.assertFalse(torch.equal(first, second))
        self.assertAlmostEqual(first[..., 100:, :].mean().item(), 1, delta=0.05)
        v = v.double().requires_grad_()
        torch.manual_seed(3)
        y = sg.relative_attention(q.double(), k.double(), v, dropout_p=0.25)
        # Linear in v: what the backward pass drops is what the forward pass dropped.
        y.sum().backward()
        torch.testing.assert_close((v.grad * v).sum(), y.sum())

    def test_wrong_shapes_are_named(self):
        q, k, v = self.heads(3, 4)
        refusals = {
            "position_scores [2, 2]": {"position_scores": torch.zeros(2, H, dtype=torch.float64)},
            "a window of 0": {"window": 0},
            "a window of [2, -1], expected at least 0": {"window": (2, -1)},
            "a window of [2], expected two": {"window": (2,)},
            "a window of [0,9223372036854775808], expected two": {"window": (0, 2**63)},
            "a chunk of [0, 2], expected at least 1": {"chunk": (0, 2)},
            "a chunk of 3, expected two": {"chunk": 3},
            "an always of 0, expected at least 1": {"always": 0},
            "a span of 0 to 5, expected numbers from 0 to 4": {"spans": torch.tensor([[[0, 5]] * 3])},
            "a span of 2 to 1, expected numbers from 0 to 4": {"spans": torch.tensor([[[2, 1]] * 3])},
            "spans with 1e+12": {"spans": torch.tensor([[[0, 10**12]] * 3])},
            "spans [1, 2, 2], expected [2, 3, 2]": {"spans": torch.zeros(1, 2, 2, dtype=torch.int64)},
            "position_bias without": {"position_bias": torch.zeros(H, D, dtype=torch.float64)},
            "dropout_p is 1.0, expected 0 to below 1": {"dropout_p": 1.0},
            "dropout_p is 1.5, expected 0 to below 1": {"dropout_p": 1.5},
            "dropout_p is -0.1, expected 0 to below 1": {"dropout_p": -0.1},
            "dropout_p is nan, expected a finite number": {"dropout_p": math.nan},
            "dropout_p is inf, expected a finite number": {"dropout_p": math.inf},
            "scale is nan, expected a finite number": {"scale": math.nan},
            "scale is -inf, expected a finite number": {"scale": -math.inf},
            "a window of 9223372036854775808, expected 1 to": {"window": 2**63},
            "a window of 1.8446744073709552e+19, expected 1 to": {"window": 2**64},
            "key_padding_mask [3, 4]": {"key_padding_mask": torch.zeros(3, 4, dtype=torch.bool)},
        }
        for line, options in refusals.items():
            with self.assertRaisesRegex(ValueError, f"^relative_attention: .*{re.escape(line)}[^\n]*$"):
                sg.relative_attention(q, k, v, **options)
        for options, line in (({"window": 2.5}, "window is 2.5"), ({"window": 2.0}, "window is 2.0"),
                              ({"window": (1, 2.5)}, "window is 2.5"), ({"window": "3"}, "window is '3'"),
                              ({"chunk": (2.5, 1)}, "chunk is 2.5"), ({"chunk": (2, 0.5)}, "chunk is 0.5")):
            with self.assertRaisesRegex(TypeError, f"^relative_attention: {re.escape(line)}, expected a whole number$"):
                sg.relative_attention(q, k, v, **options)
        with self.assertRaisesRegex(TypeError, "relative_attention: v is torch.float32, but q is torch.float64"):
            sg.relative_attention(q, k, v.float())


if __name__ == "__main__":
    unittest.main()
