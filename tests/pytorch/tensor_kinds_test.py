"""Tensors whose memory does not hold their values as they are: each is read right, or refused by name."""

import json
import unittest
import warnings

import torch
from layers import randomized

import shiftgrad.torch as sg

config = {"d_model": 8, "n_head": 2}
forward, backward = torch.ops.shiftgrad.forward.default, torch.ops.shiftgrad.backward.default


def negated(shape):
    """What `.imag` of a conjugate gives: the values times -1, and a bit that says so."""
    x = torch.fft.rfft(torch.randn(*shape[:-1], 2 * shape[-1] - 1)).conj().imag
    assert x.is_neg() and x.shape == shape
    return x


def zeros(shape):
    """What forward-mode differentiation uses: zeros without memory."""
    return torch._efficientzerotensor(shape)


def overlapping(shape):
    """Windows over one row, which share elements."""
    B, T, C = shape
    return torch.randn(B, 3 * T + C).as_strided(shape, (3 * T + C, 3, 1))


READABLE = {
    "negated": negated,
    "negated, with gaps": lambda shape: negated((*shape[:-1], 2 * shape[-1]))[..., ::2],
    "zeros": zeros,
    "overlapping": overlapping,
    "shared until written": lambda shape: torch._lazy_clone(torch.randn(shape)),
    "of inference mode": lambda shape: torch.inference_mode()(torch.randn)(shape),
    "of a file's bytes": lambda shape: torch.frombuffer(
        bytearray(4 * shape.numel()), dtype=torch.float32).view(shape),
}


def plain(x):
    return torch.empty(x.shape).copy_(x)


class Tensors(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        warnings.simplefilter("ignore")
        self.layer = randomized("transformer_xl_attention", config, torch.float32)
        self.x = torch.randn(2, 5, 8)
        self.parameters = [self.layer.get_parameter(name) for name in self.layer._names[3:]]

    def same(self, got, expected):
        for a, b in zip(got, expected, strict=True):
            self.assertTrue(torch.equal(a, b))

    def refused(self, error, line, run):
        with self.subTest(line), self.assertRaisesRegex(error, f"^{line}[^\n]*$"):
            run()


class Kinds(Tensors):
    def each(self, check):
        for name, make in READABLE.items():
            with self.subTest(name):
                check(make(self.x.shape))

    @torch.no_grad()
    def test_inputs_are_read_right(self):
        def check(x):
            self.same([self.layer(x)], [self.layer(plain(x))])
            self.same([self.layer(self.x, memory=x)], [self.layer(self.x, memory=plain(x))])
            y, state = self.layer.step(x)
            z, _ = self.layer.step(x, state)
            self.same([torch.cat([y, z], 1)], [torch.cat(
                [self.layer.step(plain(x), state := self.layer.start())[0], self.layer.step(plain(x), state)[0]], 1)])
            self.same([forward([x, None, None, *self.parameters], None, None, None, self.layer.name,
                               self.layer._text, "float32", [])[0]], [self.layer(plain(x))])
            q = x.unflatten(2, (2, 4)).transpose(1, 2)
            self.same([sg.relative_attention(q, q, q)], [sg.relative_attention(*[plain(q)] * 3)])
        self.each(check)

    def test_gradients_are_right(self):
        def check(x):
            if x.is_inference():
                return  # which PyTorch saves for no backward pass
            got = []
            for each in (x, plain(x)):
                each = each.detach().requires_grad_()
                got.append(torch.autograd.grad(self.layer(each).pow(2).sum(), [each, *self.parameters]))
            self.same(*got)
            leaf = self.x.requires_grad_()
            self.same(*(torch.autograd.grad(self.layer(leaf), [leaf, *self.parameters], each) for each in (x, plain(x))))
        self.each(check)

    def test_parameters_are_read_right(self):
        expected = self.layer(self.x)
        self.layer.qkv.weight.data = torch._neg_view(-self.layer.qkv.weight.data)
        self.assertTrue(self.layer.qkv.weight.is_neg())
        self.same([self.layer(self.x)], [expected])
        y = self.layer(self.x)
        gradient, = torch.autograd.grad(y.sum(), self.layer.qkv.weight)
        y = self.layer(self.x)
        # The same memory, read as something else.
        self.layer.qkv.weight.data = torch._neg_view(self.layer.qkv.weight.data)
        self.layer.qkv.weight.data.neg_()
        self.same([torch.autograd.grad(y.sum(), self.layer.qkv.weight)[0]], [gradient])

    def test_a_compiled_call_reads_a_negated_tensor(self):
        def model(x):
            return self.layer(torch.fft.rfft(x).conj().imag)

        x = torch.randn(2, 5, 15)
        for backend in ("aot_eager", "inductor"):
            torch.testing.assert_close(torch.compile(model, backend=backend)(x), model(x))
        torch.testing.assert_close(model(x), self.layer(plain(torch.fft.rfft(x).conj().imag)))

    def test_masks_are_read_right(self):
        mask = torch.rand(5, 5) < 0.3
        expected = self.layer(self.x, attention_mask=mask)
        self.same([self.layer(self.x, attention_mask=mask.T.contiguous().T)], [expected])
        none = torch._efficientzerotensor((2, 5), dtype=torch.bool)
        self.same([self.layer(self.x, key_padding_mask=none)], [self.layer(self.x)])
        call = ([self.x, None, None, *self.parameters], None, mask.T.contiguous().T, None, self.layer.name,
                self.layer._text, "float32", [])
        self.same([forward(*call)[0]], [expected])

    def test_others_are_refused_by_name(self):
        freed, name, x = torch.randn(2, 5, 8), self.layer.name, self.x
        freed.untyped_storage().resize_(0)
        wraps = torch._to_functional_tensor(x)
        left = []
        torch.vmap(lambda each: left.append(each) or each)(torch.randn(2, 2, 5, 8))
        for error, line, run in (
            (TypeError, "x is torch.complex64", lambda: self.layer(x.to(torch.cfloat).conj())),
            (TypeError, "x is torch.qint8", lambda: self.layer(torch.quantize_per_tensor(x, .1, 0, torch.qint8))),
            (TypeError, "x is torch.strided on meta", lambda: self.layer(x.to("meta"))),
            (TypeError, "x is torch.sparse_csr on cpu", lambda: self.layer(x[0].to_sparse_csr())),
            (TypeError, "x is torch._mkldnn on cpu", lambda: self.layer(x.to_mkldnn())),
            (TypeError, "x is torch.jagged on cpu",
             lambda: self.layer(torch.nested.nested_tensor([x[0], x[1]], layout=torch.jagged))),
            (TypeError, "x has no memory to read: .*Nested",
             lambda: self.layer(torch.nested.nested_tensor([x[0], x[1]]))),
            (TypeError, "x has no memory to read", lambda: self.layer(left[0])),
            (TypeError, "x has no memory to read", lambda: self.layer.step(left[0])),
            (ValueError, "x has no memory", lambda: self.layer(freed)),
            (ValueError, "x has no memory", lambda: self.layer.step(freed)),
            (ValueError, "memory has no memory", lambda: self.layer(x, memory=wraps)),
            (ValueError, "output.weight has no memory", lambda: torch.func.functional_call(
                self.layer, {"output.weight": torch._to_functional_tensor(self.layer.output.weight)}, x)),
            (TypeError, "the gradient has no memory to read",
             lambda: self.layer(x).backward(torch.ones_like(x).to_sparse())),
            (TypeError, "key_padding_mask has no memory to read",
             lambda: self.layer(x, key_padding_mask=torch._neg_view(torch.zeros(2, 5, dtype=torch.bool)))),
            (TypeError, "x is NoneType, expected a torch.Tensor", lambda: self.layer(None)),
            (TypeError, "x is list, expected a torch.Tensor", lambda: self.layer(x.tolist())),
            (TypeError, "attention_mask is list, expected a torch.Tensor", lambda: self.layer(x, attention_mask=[[1]])),
            (TypeError, "the state is Tensor, expected what start", lambda: self.layer.step(x, x)),
            (ValueError, r"need_weights of x \[1, 0, 8\], expected at least", lambda: self.layer(
                x[:1, :0], need_weights=True)),
        ):
            self.refused(error, f"{name}: {line}", run)
        q = x[:, None]
        self.refused(TypeError, "relative_attention: q is NoneType, expected a torch.Tensor", lambda: sg.relative_attention(None, q, q))
        self.refused(ValueError, "relative_attention: v has no memory", lambda: sg.relative_attention(q, q, wraps[:, None]))


class Operators(Tensors):
    """The operators themselves, which anyone may call."""

    def setUp(self):
        super().setUp()
        self.text = (self.layer.name, self.layer._text, "float32")
        self.tensors = [self.x, None, None, *(parameter.detach() for parameter in self.parameters)]
        self.wanted = [tensor is not None for tensor in self.tensors]

    def forward(self, tensors=None, padding=None, hidden=None, seed=None, wanted=()):
        return forward(tensors or self.tensors, padding, hidden, seed, *self.text, list(wanted))

    def backward(self, gradient=None, output=None, ticket=None, tensors=None, wanted=None):
        y, own = self.forward(wanted=self.wanted)
        first = lambda given, usual: usual if given is None else given
        return backward(first(gradient, torch.ones_like(y)), first(output, y), first(ticket, own),
                        first(tensors, self.tensors), None, None, None, *self.text, first(wanted, self.wanted))

    def test_direct_calls_are_checked(self):
        double = [tensor if tensor is None else tensor.double() for tensor in self.tensors]
        meta = [self.x, self.x.to("meta"), *self.tensors[2:]]
        for error, line, run in (
            (TypeError, r"tensors\[3\] is torch.float64, but tensors\[0\]",
             lambda: self.forward([self.x, None, None, *double[3:]])),
            (TypeError, r"tensors\[0\] is torch.float16", lambda: self.forward([self.x.half(), *self.tensors[1:]])),
            (TypeError, "a tensor on meta, but the first is on cpu", lambda: self.forward(meta)),
            (TypeError, "key_padding_mask is torch.float32", lambda: self.forward(padding=torch.zeros(2, 5))),
            (TypeError, "attention_mask is torch.uint8",
             lambda: self.forward(hidden=torch.zeros(5, 5, dtype=torch.uint8))),
            (TypeError, "the seed is 0.5", lambda: self.forward(seed=torch.tensor(0.5))),
            (TypeError, "the seed is -5", lambda: self.forward(seed=torch.tensor(-5))),
            (ValueError, "1 tensors, expected 8", lambda: self.forward([self.x])),
            (ValueError, "gradients are wanted of 1 tensors", lambda: self.forward(wanted=[True])),
            (TypeError, "output is torch.float32, but gradient is torch.float64",
             lambda: self.backward(gradient=torch.ones(2, 5, 8, dtype=torch.float64))),
            (TypeError, r"tensors\[0\] is torch.float64, but gradient is torch.float32",
             lambda: self.backward(tensors=double)),
            (TypeError, "a tensor on meta", lambda: self.backward(ticket=torch.zeros(1, device="meta"))),
            (ValueError, "a backward pass of which no gradients are wanted",
             lambda: self.backward(wanted=[False] * 8)),
        ):
            self.refused(error, f"{self.layer.name}: {line}", run)
        self.refused(ValueError, "backward: a cotangent of shape", lambda: self.backward(gradient=torch.ones(3)))
        for options, line in (({"scale": "a"}, 'scale is "a"'), ({"window": None}, "window is null"),
                              ({"window": 2 ** 64}, "a window of 1.8"), ({"causal": 3}, "causal is 3"),
                              ({"dropout_p": -0.1}, "a dropout rate of -0.1")):
            q = self.x[:, None]
            self.refused(ValueError, f"relative_attention: {line}", lambda: forward(
                [q, q, q] + [None] * 6, None, None, None, "relative_attention", json.dumps(options), "float32", []))

    def test_a_ticket_of_another_call_is_no_ticket(self):
        expected = self.backward()
        y, ticket = self.forward([2 * self.x, *self.tensors[1:]], wanted=self.wanted)
        self.same(self.backward(ticket=ticket), expected)
        self.same(self.backward(ticket=torch.zeros(1, dtype=torch.uint8)), expected)
        self.same(self.backward(output=y), expected)

    def test_strides_do_not_matter(self):
        expected = self.backward()
        turned = [tensor if tensor is None else tensor.T.contiguous().T for tensor in self.tensors[3:]]
        torch.testing.assert_close(self.backward(tensors=[*self.tensors[:3], *turned]), expected)
        for gradient in (torch.ones(()).expand(2, 5, 8), torch.ones(2, 5, 16)[..., ::2], torch.ones(8, 5, 2).permute(2, 1, 0)):
            torch.testing.assert_close(self.backward(gradient=gradient), expected)


if __name__ == "__main__":
    unittest.main()
