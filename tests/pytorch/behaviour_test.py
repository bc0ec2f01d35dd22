"""How the layers live with the rest of PyTorch: errors, autograd, copies, threads, memory, torch.compile."""

import copy
import gc
import os
import pickle
import resource
import threading
import unittest
import warnings
import weakref

import torch
from layers import forms, inputs, label, randomized
from torch.utils.checkpoint import checkpoint

import shiftgrad.torch as sg
from shiftgrad.torch.attention import _names

xl = {"d_model": 8, "n_head": 2}


def make(dtype=torch.float32):
    return randomized("transformer_xl_attention", xl, dtype)


def gradients(layer, x, run=None):
    """The gradients of x and of the parameters, for a loss that depends on y."""
    x = x.detach().requires_grad_()
    layer.zero_grad()
    (run or layer)(x).float().pow(2).sum().backward()
    return [x.grad, *(parameter.grad for parameter in layer.parameters())]


class Behaviour(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.layer, self.x = make(), torch.randn(2, 5, 8)

    def same(self, got, expected):
        for a, b in zip(got, expected, strict=True):
            self.assertTrue(torch.equal(a, b))


class Errors(Behaviour):
    def test_other_devices_and_dtypes_are_type_errors(self):
        mixed = make().double()
        mixed.content_bias.data = mixed.content_bias.data.float()
        mask = torch.zeros(2, 5)
        late = make()
        state = late.start()
        for line, run in {
            "x is torch.float16, expected": lambda: self.layer(self.x.half()),
            "x is torch.int64, expected": lambda: self.layer(self.x.long()),
            "qkv.weight is torch.float32, but x is torch.float64": lambda: self.layer(self.x.double()),
            "content_bias is torch.float32, but x": lambda: mixed(self.x.double()),
            "memory is torch.float64, but x is torch.float32": lambda: self.layer(self.x, memory=self.x.double()),
            "qkv.weight is torch.float16, expected": lambda: make().half()(self.x),
            "memory is torch.strided on meta": lambda: self.layer(self.x, memory=self.x.to("meta")),
            "x is torch.sparse_coo on cpu": lambda: self.layer(self.x.to_sparse()),
            "key_padding_mask is torch.float32": lambda: self.layer(self.x, key_padding_mask=mask),
            "attention_mask is on meta":
                lambda: self.layer(self.x, attention_mask=torch.ones(5, 5, dtype=torch.bool, device="meta")),
            "the state was started in another dtype": lambda: late.double().step(self.x.double(), state),
        }.items():
            with self.subTest(line), self.assertRaisesRegex(TypeError, f"^transformer_xl_attention: {line}[^\n]*$"):
                run()

    def test_shapes_and_configs_that_do_not_fit_are_value_errors(self):
        odd = make()
        odd.qkv.weight = torch.nn.Parameter(torch.zeros(3, 3))
        other = make()
        for line, run in {
            r"transformer_xl_attention: x \[2, 5, 7\], expected \[B, T, 8\]":
                lambda: self.layer(torch.randn(2, 5, 7)),
            r"transformer_xl_attention: memory \[1, 5, 8\] for x": lambda: self.layer(self.x, memory=self.x[:1]),
            r"transformer_xl_attention: parameter qkv.weight \[3, 3\], expected \[24, 8\]": lambda: odd(self.x),
            "transformer_xl_attention: takes no context": lambda: self.layer(self.x, context=self.x),
            r"key_padding_mask \[2, 4\], expected \[2, 5\]":
                lambda: self.layer(self.x, key_padding_mask=torch.zeros(2, 4, dtype=torch.bool)),
            "a state of another module": lambda: other.step(self.x, self.layer.start()),
            'unknown layer "transformer"': lambda: sg.layer("transformer"),
            'aft: unknown config key "d_modl"': lambda: sg.layer("aft", d_modl=3),
            'relative_global_attention: config key "n_head" is "two"':
                lambda: sg.layer("relative_global_attention", d_model=4, n_head="two", max_seq=1),
            'multi_head_attention: config key "window" is null':
                lambda: sg.layer("multi_head_attention", d_model=4, n_head=1, window=None),
            "rel_shift: has no step": lambda: sg.layer("rel_shift").step(self.x),
            'multi_head_attention: config key "attention_dropout" is nan, expected a finite number':
                lambda: sg.layer("multi_head_attention", d_model=4, n_head=1, attention_dropout=float("nan")),
            'transformer_block: config key "window" is inf, expected a finite number': lambda: sg.layer(
                "transformer_block", d_inner=4, mixer={"type": "multi_head_attention"} | xl | {"window": float("inf")}),
            "set_precision: precision is 'half'": lambda: sg.set_precision("half"),
        }.items():
            with self.subTest(line), self.assertRaisesRegex(ValueError, f"{line}[^\n]*$"):
                run()

    def test_second_derivatives_are_refused(self):
        x = self.x.requires_grad_()
        gradient, = torch.autograd.grad(self.layer(x).pow(2).sum(), x, create_graph=True)
        with self.assertRaisesRegex(NotImplementedError, "transformer_xl_attention: .* no second derivatives"):
            gradient.sum().backward()

    def test_what_the_tape_needs_must_not_change(self):
        for change in (lambda x, y: x.mul_(2), lambda x, y: y.mul_(2),
                       lambda x, y: self.layer.qkv.weight.data_ptr() and self.bump(self.layer.qkv.weight)):
            x = (self.x.detach().requires_grad_()) * 1
            y = self.layer(x)
            change(x, y)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                y.sum().backward()

    @torch.no_grad()
    def bump(self, parameter):
        parameter.add_(1)


class Autograd(Behaviour):
    def test_any_layout_gives_the_same(self):
        expected = gradients(self.layer, self.x)
        for name, view in {
            "transposed": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
            "with gaps": lambda x: torch.cat([x, x], 2)[:, :, :8],
            "one column at a time": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
            "every second": lambda x: x.repeat_interleave(2, 1)[:, ::2],
            "offset": lambda x: torch.cat([x.new_zeros(1), x.flatten()])[1:].view(2, 5, 8),
        }.items():
            with self.subTest(name):
                for a, b in zip(gradients(self.layer, self.x, lambda x: self.layer(view(x))), expected):
                    torch.testing.assert_close(a, b)
                with torch.no_grad():
                    torch.testing.assert_close(self.layer(view(self.x)), self.layer(self.x))

    def test_an_expanded_input_gets_the_sum(self):
        x = self.x[:1].requires_grad_()
        self.layer(x.expand(2, 5, 8)).pow(2).sum().backward()
        got = x.grad
        full = gradients(self.layer, x.expand(2, 5, 8))[0]
        torch.testing.assert_close(got, full.sum(0, keepdim=True))

    def test_empty_and_short(self):
        for name, config, width in forms():
            for B, T in ((0, 3), (2, 0), (2, 1)):
                with self.subTest(label(name, config), B=B, T=T):
                    layer = randomized(name, config, torch.float32)
                    given = inputs(name, config, width, torch.float32, B=B, T=T, M=0)
                    x = given["x"].requires_grad_()
                    y = layer(**given)
                    y.sum().backward()
                    self.assertEqual((y.shape, x.grad.shape), (x.shape, x.shape))
                    self.assertTrue(all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters()))

    def test_gradients_only_where_wanted(self):
        self.layer.qkv.requires_grad_(False)
        self.layer(self.x).sum().backward()
        self.assertIsNone(self.layer.qkv.weight.grad)
        self.assertIsNotNone(self.layer.output.weight.grad)
        self.layer.requires_grad_(False)
        self.assertFalse(self.layer(self.x).requires_grad)
        x = self.x.requires_grad_()
        self.layer(x).sum().backward()
        self.assertIsNotNone(x.grad)

    def test_no_grad_and_inference_mode(self):
        expected = self.layer(self.x).detach()
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                y = self.layer(self.x)
                self.assertFalse(y.requires_grad)
                self.same([y.clone()], [expected])

    def test_checkpoint_recomputes_the_same(self):
        expected = gradients(self.layer, self.x)
        for reentrant in (False, True):
            run = lambda x: checkpoint(self.layer, x, use_reentrant=reentrant)
            self.same(gradients(self.layer, self.x, run), expected)

    def test_a_graph_may_be_run_twice(self):
        x = self.x.requires_grad_()
        y = self.layer(x).sum()
        first, = torch.autograd.grad(y, x, retain_graph=True)
        second, = torch.autograd.grad(y, x, retain_graph=True)
        self.same([first], [second])

    def test_saved_tensors_may_be_moved(self):
        expected = gradients(self.layer, self.x)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            self.same(gradients(self.layer, self.x), expected)

    def test_calls_may_interleave(self):
        expected = gradients(self.layer, self.x)
        x = [self.x.detach().requires_grad_() for _ in range(3)]
        self.layer.zero_grad()
        losses = [self.layer(each).pow(2).sum() for each in x]
        for n in (1, 0, 2):
            losses[n].backward()
            self.same([x[n].grad], expected[:1])

    def test_autocast_acts_as_on_torchs_layers(self):
        layer, exact = torch.nn.Linear(8, 8), self.layer(self.x)
        block = sg.layer("transformer_block", mixer={"type": "multi_head_attention"} | xl, d_inner=8)
        for x in (self.x, self.x.bfloat16()):
            with torch.autocast("cpu", torch.bfloat16):
                y = self.layer(x)
                self.assertEqual(y.dtype, layer(x).dtype)
                self.assertEqual(block(x).dtype, x.dtype)
                got = gradients(self.layer, x)
            self.assertEqual([each.dtype for each in got], [x.dtype] + [torch.float32] * (len(got) - 1))
            difference = (y.float() - exact).abs().max() / exact.abs().max()
            self.assertTrue(1e-5 < difference < 3e-2, difference)
        double = make(torch.float64)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(double(self.x.double()).dtype, torch.float64)

    def test_precision_is_chosen(self):
        exact = self.layer(self.x)
        sg.set_precision("bfloat16")
        try:
            y = self.layer(self.x)
        finally:
            sg.set_precision("float32")
        self.assertTrue(1e-5 < (y - exact).abs().max() / exact.abs().max() < 3e-2)
        self.same([self.layer(self.x)], [exact])


class Dropout(Behaviour):
    rates = {"dropout": 0.3, "attention_dropout": 0.4}
    forms = {
        "multi_head_attention": xl | {"attention_dropout": 0.4},
        "transformer_xl_attention": xl | rates,
        "transformer_block": {"mixer": {"type": "relative_global_attention", "max_seq": 5} | xl, "d_inner": 8} | rates,
        "r_transformer_block": xl | {"window": 2, "cell": "gru", "d_inner": 8} | rates,
        "encoder_decoder_block": {"mixer": {"type": "multi_head_attention"} | xl, "d_inner": 8} | rates,
    }

    def cases(self, dtype=torch.float32):
        """A layer, its x and what else it takes, of each form."""
        for name, config in self.forms.items():
            x = torch.randn(2, 5, 8, dtype=dtype)
            yield randomized(name, config, dtype), x, {"context": x.flip(1)} if "decoder" in name else {}

    def test_it_acts_in_training_alone_and_follows_torchs_seed(self):
        for layer, x, more in self.cases():
            with self.subTest(layer.name):
                exact = sg.layer(layer.name, **{k: v for k, v in layer.config.items() if k not in self.rates})
                exact.load_state_dict(layer.state_dict())
                self.same([layer.eval()(x, **more)], [exact(x, **more)])
                layer.train()
                torch.manual_seed(5)
                first, second = layer(x, **more), layer(x, **more)
                torch.manual_seed(5)
                self.same([layer(x, **more)], [first])
                self.assertFalse(torch.equal(first, second))

    def test_attention_keeps_its_mean(self):
        dropping = sg.layer(self.layer.name, **xl, attention_dropout=0.4)
        dropping.load_state_dict(self.layer.state_dict())
        x, times = self.x[:1], 4000
        samples = dropping(x.expand(times, 5, 8)) - self.layer(x)
        self.assertTrue((samples.std(0) > 1e-2).all())
        self.assertTrue((samples.mean(0).abs() < 5 * samples.std(0) / times ** 0.5).all())

    def test_gradients(self):
        for layer, x, more in self.cases(torch.float64):
            def run(x):
                torch.manual_seed(7)
                return layer(x, **more)
            with self.subTest(layer.name):
                self.assertTrue(torch.autograd.gradcheck(run, x.requires_grad_()))

    def test_checkpoint_drops_the_same(self):
        for layer, x, more in self.cases():
            got = []
            for wrap in (lambda x: layer(x, **more), lambda x: checkpoint(layer, x, use_reentrant=False, **more)):
                torch.manual_seed(5)
                got.append(gradients(layer, x, wrap))
            with self.subTest(layer.name):
                self.same(*got)

    def test_a_rate_without_a_place_is_an_error(self):
        for line, config in {
            "aft: takes no attention_dropout": {"name": "aft", "d_model": 4, "form": "simple", "attention_dropout": 0.1},
            "multi_head_attention: takes no dropout": {"name": "multi_head_attention", "dropout": 0.1} | xl,
            'transformer_xl_attention: config key "dropout" is 1, expected 0 to below 1':
                {"name": "transformer_xl_attention", "dropout": 1} | xl,
            'transformer_xl_attention: config key "dropout" is "a"':
                {"name": "transformer_xl_attention", "dropout": "a"} | xl,
        }.items():
            with self.subTest(line), self.assertRaisesRegex(ValueError, line):
                sg.layer(**config)


class Copies(Behaviour):
    def test_modules_are_copied_and_pickled(self):
        expected = gradients(self.layer, self.x)
        for other in (copy.deepcopy(self.layer), pickle.loads(pickle.dumps(self.layer))):
            self.same(gradients(other, self.x), expected)
            with torch.no_grad():
                other.qkv.weight.zero_()
            self.assertFalse(torch.equal(other(self.x), self.layer(self.x)))
        self.same(gradients(self.layer, self.x), expected)

    def test_a_state_is_copied_and_its_input_may_change(self):
        for config in ({}, {"cell": "rnn"}):
            layer = (sg.layer("local_rnn", d_model=8, window=4, **config) if config else self.layer)
            x = self.x.clone()
            _, state = layer.step(x)
            x.zero_()
            fork = copy.deepcopy(state)
            y, _ = layer.step(self.x, state)
            again, _ = layer.step(self.x, fork)
            self.same([again], [y])
            torch.testing.assert_close(y, layer(torch.cat([self.x, self.x], 1))[:, 5:].detach())

    def test_a_limit_forgets(self):
        state = self.layer.start(limit=2)
        self.layer.step(self.x, state)
        y, _ = self.layer.step(self.x, state)
        torch.testing.assert_close(y, self.layer(self.x, memory=self.x[:, -2:]).detach())


class Threads(Behaviour):
    def test_two_threads_at_once(self):
        layers = [self.layer, self.layer, make(torch.float64), make()]
        xs = [torch.randn(2, 40, 8, dtype=layer.qkv.weight.dtype) for layer in layers]

        def alone(layer, x):
            x = x.detach().requires_grad_()
            return torch.autograd.grad(layer(x).pow(2).sum(), [x, *layer.parameters()])

        expected, failures = [alone(*pair) for pair in zip(layers, xs)], []

        def work(n):
            for round in range(30):
                if n == 3 and round % 2:  # another precision meanwhile
                    with torch.autocast("cpu", torch.bfloat16):
                        layers[n](xs[n])
                got = alone(layers[n], xs[n])
                if not all(map(torch.equal, got, expected[n])):
                    failures.append(n)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(len(layers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_copies_of_a_state_step_at_once(self):
        xs, failures = torch.randn(2, 60, 1, 1, 8), []
        _, start = self.layer.step(self.x[:1])

        def run(tokens, state):
            pieces = []
            for token in tokens:
                y, state = self.layer.step(token, state)
                pieces.append(y)
                copy.deepcopy(state)
            return torch.cat(pieces, 1)

        expected = [run(tokens, copy.deepcopy(start)) for tokens in xs]

        def work(n, state):
            try:
                if not torch.equal(run(xs[n], state), expected[n]):
                    failures.append(f"thread {n} has another result")
            except Exception as error:
                failures.append(error)

        for _ in range(10):
            threads = [threading.Thread(target=work, args=(n, copy.deepcopy(start))) for n in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])

    def test_bits_do_not_depend_on_torchs_threads(self):
        before, got = torch.get_num_threads(), []
        layer, x = sg.layer("relative_global_attention", d_model=64, n_head=4, max_seq=300), torch.randn(2, 300, 64)
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            got.append(gradients(layer, x))
        torch.set_num_threads(before)
        self.same(got[1], got[0])
        self.same(got[2], got[0])

    def test_a_forked_child_computes(self):
        x = torch.randn(2, 300, 8)
        expected = gradients(self.layer, x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            # Torch's threads stayed in the parent. What torch computes here is too small for them.
            got = gradients(self.layer, x)
            os._exit(0 if all(map(torch.equal, got, expected)) else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class Memory(Behaviour):
    def test_tensors_live_as_long_as_the_tape_needs_them(self):
        x = self.x.detach().requires_grad_()
        view = x * 1
        alive = weakref.ref(view)
        y = self.layer(view)
        del view
        gc.collect()
        self.assertIsNotNone(alive())
        y.sum().backward()
        self.assertIsNone(alive())
        view = x * 1
        alive, y = weakref.ref(view), self.layer(view)
        del view, y
        self.assertIsNone(alive())
        with torch.no_grad():
            view = x * 1
            alive, y = weakref.ref(view), self.layer(view)
        del view
        self.assertIsNone(alive())

    def test_parameters_go_with_their_module(self):
        layer = make()
        alive = weakref.ref(layer.qkv.weight)
        layer(self.x).sum().backward()
        _, state = layer.step(self.x)
        del layer
        self.assertIsNone(alive())

    @unittest.skipIf("asan" in os.environ.get("LD_PRELOAD", ""), "a sanitizer keeps what is freed")
    def test_many_calls_take_constant_memory(self):
        calls = int(os.environ.get("CALLS", 3000))
        block = sg.layer("transformer_block", mixer={"type": "transformer_xl_attention"} | xl, d_inner=8)
        q = torch.randn(1, 2, 3, 4, requires_grad=True)
        x = self.x.requires_grad_()

        def run(times):
            for n in range(times):
                block(x, memory=x[:, :2]).sum().backward()
                sg.relative_attention(q, q, q, scale=1 + n * 1e-6).sum().backward()
                self.layer(x)  # a tape that never runs backward

        def resident():
            gc.collect()
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * resource.getpagesize()

        run(2 * calls // 3)
        before = resident()
        run(calls)
        self.assertLess(resident() - before, 2 << 20)


class Compiled(Behaviour):
    def test_the_operators_pass_opcheck(self):
        forward, backward = torch.ops.shiftgrad.forward.default, torch.ops.shiftgrad.backward.default
        parameters = [self.layer.get_parameter(name) for name in self.layer._names[3:]]
        config = ("transformer_xl_attention", self.layer._text, "float32")
        x = self.x.requires_grad_()
        mask = torch.rand(5, 7) < 0.3
        cases = [([x, torch.randn(2, 2, 8), None, *parameters], None, mask, None, *config, [])]
        packed = torch.randn(2, 5, 3, 2, 4).requires_grad_()
        heads = [packed[:, :, part].transpose(1, 2) for part in range(3)]
        seed = torch.tensor(5)
        heads += [None] * (len(_names) - len(heads))
        cases.append((heads, None, None, seed, "relative_attention", '{"dropout_p": 0.5}', "float32", []))
        for case in cases:
            tensors, *rest, _ = case
            torch.library.opcheck(forward, case)
            wanted = [tensor is not None and tensor.requires_grad for tensor in tensors]
            with torch.no_grad():
                output, ticket = forward(tensors, *rest, wanted)
            gradient = torch.randn_like(output)
            torch.library.opcheck(
                backward, (gradient, output, ticket, [t if t is None else t.detach() for t in tensors], *rest, wanted))

    def check(self, model, layer, x, backend):
        compiled = torch.compile(model, fullgraph=True, backend=backend)
        for a, b in zip(gradients(layer, x, compiled), gradients(layer, x, model), strict=True):
            torch.testing.assert_close(a, b)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), model(x))

    def test_the_graph_does_not_break(self):
        bias = torch.randn(5, 2)

        def model(x):
            y = self.layer(torch.tanh(x), memory=x[:, :2]) + x
            heads = y.view(2, 5, 2, 4).transpose(1, 2)
            y = sg.relative_attention(heads, heads, heads, position_scores=bias, window=4)
            return torch.tanh(y.transpose(1, 2).flatten(2)) * 2

        self.check(model, self.layer, self.x, "aot_eager")
        self.check(model, self.layer, self.x, "inductor")

    def test_autocast_and_checkpoint_within(self):
        def model(x):
            with torch.autocast("cpu", torch.bfloat16):
                y = self.layer(x)
            return checkpoint(self.layer, y.float(), use_reentrant=False)

        self.check(model, self.layer, self.x, "aot_eager")

    def test_export_keeps_the_operator(self):
        exported = torch.export.export(self.layer, (self.x,)).module()
        self.same([exported(self.x)], [self.layer(self.x)])

    def test_dynamic_lengths(self):
        compiled = torch.compile(self.layer, fullgraph=True, backend="aot_eager", dynamic=True)
        for T in (5, 7, 1, 9):
            x = torch.randn(2, T, 8)
            torch.testing.assert_close(compiled(x), self.layer(x))


if __name__ == "__main__":
    unittest.main()
