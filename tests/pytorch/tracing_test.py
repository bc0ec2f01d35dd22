"""Calls are visible from outside: traces record them, counters count them, and the impossible is refused."""

import io
import unittest
import warnings

import torch
from layers import randomized
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula

import shiftgrad.torch as sg

config = {"d_model": 8, "n_head": 2}
operators = torch.ops.shiftgrad


class Dispatched(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen.append(function)
        return function(*args, **(kwargs or {}))


class Called(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(function)
        return function(*args, **(kwargs or {}))


class Traces(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        warnings.simplefilter("ignore")
        self.layer = randomized("transformer_xl_attention", config, torch.float32)
        self.x, self.other = torch.randn(2, 5, 8), torch.randn(2, 5, 8)
        self.model = lambda x: x + self.layer(x)

    def attention(self, x):
        q = x.unflatten(2, (2, 4)).transpose(1, 2)
        return sg.relative_attention(q, q, q)

    def refused(self, line, run, name="transformer_xl_attention"):
        with self.subTest(line), self.assertRaisesRegex(NotImplementedError, f"{name}: {line}"):
            run()

    def test_make_fx_records_the_operators(self):
        for model in (self.model, lambda x: self.attention(x)):
            for grad in (torch.no_grad, torch.enable_grad):
                with grad():
                    traced = make_fx(model)(self.x)
                    self.assertTrue(torch.equal(traced(self.other), model(self.other)))

        def slope(x):
            return torch.autograd.grad(self.model(x).pow(2).sum(), x)[0]

        traced = make_fx(slope)(self.x.requires_grad_())
        self.other.requires_grad_()
        self.assertTrue(torch.equal(traced(self.other), slope(self.other)))

    def test_functionalization_records_the_operators(self):
        traced = make_fx(torch.func.functionalize(self.model))(self.x)
        self.assertTrue(torch.equal(traced(self.other), self.model(self.other)))

    def test_modes_see_both_passes(self):
        for form in (self.layer, self.attention):
            for mode in (Dispatched, Called):
                with mode() as there:
                    y = form(self.x.requires_grad_())
                with mode() as back:
                    y.sum().backward()
                self.assertIn(operators.forward.default, there.seen)
                if mode is Dispatched:  # the engine is no function that a TorchFunctionMode sees
                    self.assertIn(operators.backward.default, back.seen)

    def test_flops_are_counted(self):
        @register_flop_formula(operators.forward)
        def flops(*_, **__):
            return 7

        for grad in (torch.no_grad, torch.enable_grad):
            with grad(), FlopCounterMode(display=False) as counter:
                self.layer(self.x)
            self.assertEqual(counter.get_total_flops(), 7)

    def test_the_profiler_sees_both_passes(self):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            self.layer(self.x).sum().backward()
        names = {event.key for event in profile.key_averages()}
        self.assertLessEqual({"shiftgrad::forward", "shiftgrad::backward"}, names)

    def test_a_step_keeps_no_constant(self):
        step = lambda x: self.layer.step(x)[0]
        for run in (lambda: make_fx(step)(self.x), lambda: torch.jit.trace(step, self.x, check_trace=False),
                    lambda: torch.vmap(step)(self.x[None])):
            self.refused("a step has a state", run)
        with Dispatched():  # which is no trace
            step(self.x)

    def test_jit_traces_are_refused(self):
        for grad in (torch.no_grad, torch.enable_grad):
            with grad():
                self.refused("torch.jit.trace cannot record", lambda: torch.jit.trace(self.model, self.x))
                self.refused("torch.jit.trace cannot record", lambda: torch.jit.trace(self.attention, self.x),
                             "relative_attention")
                self.refused("torch.jit.trace cannot record", lambda: torch.onnx.export(
                    torch.nn.Sequential(self.layer), (self.x,), io.BytesIO(), dynamo=False))

    def test_transforms_are_refused(self):
        loss = lambda x: self.layer(x).sum()
        stack = torch.stack([self.x, self.other])
        for grad in (torch.no_grad, torch.enable_grad):
            with grad():
                self.refused("torch.vmap has no rule", lambda: torch.vmap(self.layer)(stack))
                self.refused("torch.func cannot differentiate", lambda: torch.func.grad(loss)(self.x))
                self.refused("torch.func cannot differentiate", lambda: torch.func.vjp(self.layer, self.x))
                self.refused("torch.func cannot differentiate", lambda: torch.func.jacrev(self.layer)(self.x))
                self.refused("shiftgrad computes no forward-mode",
                             lambda: torch.func.jvp(self.layer, (self.x,), (self.x,)))
                self.refused("shiftgrad computes no forward-mode", lambda: torch.func.jacfwd(self.layer)(self.x))
        x = self.x.requires_grad_()
        y = self.layer(x)
        self.refused("torch.vmap has no rule", lambda: torch.autograd.grad(y, x, stack, is_grads_batched=True))
        self.refused("torch.vmap has no rule", lambda: torch.autograd.functional.jacobian(
            self.layer, self.x, vectorize=True))

    def test_forward_mode_is_refused_where_a_tangent_would_go(self):
        for grad in (torch.no_grad, torch.enable_grad):
            for leaf in (self.x, self.x.clone().requires_grad_()):
                with grad(), forward_ad.dual_level():
                    dual = forward_ad.make_dual(leaf, self.other)
                    for run in (lambda: self.layer(dual), lambda: self.layer.step(dual)):
                        self.refused("shiftgrad computes no forward-mode", run)
                    self.refused("shiftgrad computes no forward-mode", lambda: self.attention(dual), "relative_attention")
                    primal = forward_ad.unpack_dual(dual).primal
                    self.assertTrue(torch.equal(self.layer(primal), self.layer(self.x.detach())))
        y = self.layer(self.x.requires_grad_())
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones_like(y), self.other)
            self.refused("shiftgrad computes no forward-mode", lambda: y.backward(dual))


if __name__ == "__main__":
    unittest.main()
