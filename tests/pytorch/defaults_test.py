"""The package where torch has another default dtype or another default device: it gives the bits that it usually gives.

A default device of "meta" shows every tensor that a call makes without the device of its neighbours: it has no values.
"""

import contextlib
import copy
import itertools
import tempfile
import unittest
from pathlib import Path

import torch
from accelerate_test import cases
from attention_test import terms
from fresh_models import in_double, missing
from layers import forms, inputs, label, randomized

import shiftgrad.torch as sg
from shiftgrad.torch.row import is_accelerated

B, H, T, K, D = 2, 2, 4, 6, 4
others = ((torch.float64, "cpu"), (torch.bfloat16, "cpu"), (torch.float32, "meta"))


@contextlib.contextmanager
def defaults(dtype, device):
    usual = torch.get_default_dtype()
    try:
        torch.set_default_dtype(dtype)
        torch.set_default_device(device)
        yield
    finally:
        torch.set_default_dtype(usual)
        torch.set_default_device(None)


def takes_pieces(layer):
    try:
        return layer.start() is not None
    except ValueError:  # it looks ahead
        return False


def with_gradients(run, leaves):
    """y, its first derivatives, their derivatives, and the first ones of two cotangents at once."""
    y = run()
    first = torch.autograd.grad(y, leaves, torch.full_like(y, 0.7), create_graph=True)
    second = torch.autograd.grad([each.sin().sum() for each in first], leaves, retain_graph=True)
    batch = torch.stack([torch.full_like(y, 0.3), torch.full_like(y, 1.1)])
    return [y, *first, *second, *torch.autograd.grad(y, leaves, batch, is_grads_batched=True)]


class Defaults(unittest.TestCase):
    def check(self, run, *wheres):
        """run() gives a list of tensors or other results, always the same."""
        torch.manual_seed(5)
        expected = run()
        for dtype, device in wheres or others:
            with self.subTest(dtype=dtype, device=device), defaults(dtype, device):
                torch.manual_seed(5)
                for n, (got, each) in enumerate(zip(run(), expected, strict=True)):
                    if isinstance(each, torch.Tensor):
                        self.assertEqual((got.dtype, got.device), (each.dtype, each.device), n)
                        self.assertTrue(torch.equal(got, each), n)
                    else:
                        self.assertEqual(got, each)

    def test_derivatives_of_attention(self):
        torch.manual_seed(1)
        padding, hidden = torch.rand(B, K) < 0.2, torch.rand(B, T, K) < 0.2
        every = ("content_bias", "position_bias", "position_rows", "position_queries", "position_scores", "clipped_keys",
                 "clipped_values", "key_scores", "sink")
        for dtype, causal, options in itertools.product((torch.float32, torch.float64), (True, False), (
            {}, {"dropout_p": 0.3}, {"window": 3, "scale": 0.4, "dropout_p": 0.1}, {"chunk": (2, 1)},
            {"key_padding_mask": padding, "attention_mask": hidden, "dropout_p": 0.5},
        )):
            given = terms(K if causal else K + T - 1, H, every if options else (), K)
            given = {name: each.to(dtype).requires_grad_() for name, each in given.items()}
            heads = [torch.randn(B, H, n, D, dtype=dtype, requires_grad=True) for n in (T, K, K)]
            run = lambda: sg.relative_attention(*heads, **given, causal=causal, **options)
            with self.subTest(dtype=dtype, causal=causal, **options):
                self.check(lambda: with_gradients(run, [*heads, *given.values()]))

    def test_derivatives_under_autocast(self):
        """Autocast rounds what the kernel multiplies; the equation behind second derivatives is that of the call's dtype."""
        torch.manual_seed(2)
        heads = [torch.randn(B, H, T, D, requires_grad=True) for _ in range(3)]
        rows = torch.randn(T, H, D, requires_grad=True)

        def derived(outside):
            y = sg.relative_attention(*heads, position_rows=rows)
            with torch.autocast("cpu", torch.bfloat16, enabled=outside):
                return with_gradients(lambda: y, [*heads, rows])

        for got, expected in zip(derived(True), derived(False), strict=True):
            self.assertTrue(torch.equal(got, expected))

    def test_compiled_attention(self):
        heads = [torch.randn(B, H, n, D, dtype=torch.float64) for n in (T, K, K)]

        def run():
            torch.compiler.reset()
            compiled = torch.compile(sg.relative_attention, backend="aot_eager", fullgraph=True)
            return [compiled(*heads, dropout_p=0.2, window=(2, 1), causal=False)]

        self.check(run)

    def test_layers(self):
        torch.manual_seed(3)
        for name, config, width in forms():
            layer = randomized(name, config | ({"attention_dropout": 0.2} if name.endswith("_attention") else {}), torch.float32)
            given = inputs(name, config, width, torch.float32, masks=True)
            given["x"].requires_grad_()
            steps = takes_pieces(layer)
            alone = {key: each for key, each in given.items() if key in ("x", "context")}

            def run():
                y = layer(**given)
                results = [y, *torch.autograd.grad(y.sum(), [given["x"], *layer.parameters()], allow_unused=True)]
                state = layer.start() if steps else None
                for piece in given["x"].detach().split(2, 1) if steps else ():
                    results.append(layer.step(piece, state, context=given.get("context"))[0])
                if name != "local_rnn" and config.get("mixer", {}).get("type") != "local_rnn":
                    results += layer(**alone, need_weights=True)
                with torch.autocast("cpu", torch.bfloat16):
                    return results + [layer(**alone)]

            with self.subTest(label(name, config)):
                self.check(run)

    def test_a_layer_that_is_made(self):
        """Its parameters are floats, or doubles where torch's default is, and on the CPU."""
        make = lambda: [*sg.layer("aft", form="full", d_model=3, max_len=4).parameters()]
        self.check(make, (torch.bfloat16, "cpu"), (torch.float32, "meta"))
        with defaults(torch.float64, "cpu"):
            self.assertEqual({each.dtype for each in make()}, {torch.float64})
        with defaults(torch.bfloat16, "cpu"), self.assertRaisesRegex(ValueError, "^rel_shift: has no step$"):
            sg.layer("rel_shift").start()  # which has no parameter to begin with

    def test_models(self):
        torch.manual_seed(4)
        sizes = {"d_model": 8, "n_head": 2, "d_inner": 6}
        model = sg.layer("language_model", vocab_size=4, n_layer=2, **sizes,
                         mixer={"type": "relative_global_attention", "max_seq": 8}, dropout=0.1)
        model.vocabulary = sg.Vocabulary("Characters", "bytes", [10, 97, 98, 99])
        mixers = {f"{side}_mixer": {"type": "multi_head_attention"} for side in ("encoder", "decoder")}
        translator = sg.layer("encoder_decoder", source_vocab_size=7, target_vocab_size=7, n_encoder_layer=1,
                              n_decoder_layer=1, **sizes, **mixers).eval()
        words = ["a", "b", "c"]
        for side in ("source", "target"):
            setattr(translator, side + "_vocabulary", sg.Vocabulary("Symbols", "words", words, 9))

        def run():
            tokens = model.vocabulary.encode("abcab")[None]
            logits, hidden, memory, weights = model(tokens, mem_len=3, return_hidden=True, need_weights=True)
            results = [tokens, logits, hidden, memory, weights, *torch.autograd.grad(logits.sum(), model.parameters())]
            results += [model(tokens, memory), model.eval().generate("ab", 9, seed=1), model.generate(tokens[0], 9)]
            model.train()
            with tempfile.TemporaryDirectory() as folder:
                model.save(Path(folder) / "saved.safetensors")
                loaded = sg.load(Path(folder) / "saved.safetensors")
            results += [each.float() for each in loaded.parameters()]
            results += [translator.generate(["a b", "c"], max_length=4), translator.generate([], max_length=4)]
            source = translator.source_vocabulary.encode("a b c")[None]
            y, state = translator.step(source[:, :1], translator.start(source))
            return results + [translator(source, source), y, *translator.generate(source, max_length=3)]

        self.check(run)

    @unittest.skipIf(missing, f"{missing}")
    def test_accelerated_attentions(self):
        """Each that sg.accelerate replaces, called as its model calls it. The model's own code may heed the defaults."""
        torch.manual_seed(6)
        for name, model, run, _ in cases():
            sg.accelerate(model)
            calls = []
            for module in filter(is_accelerated, model.modules()):
                # As they are now: a cache among them grows.
                module.register_forward_pre_hook(
                    lambda module, *given, model=model, calls=calls: calls.append(
                        (module, *copy.deepcopy(given, {id(model): model}))), with_kwargs=True)
            with self.subTest(name), torch.no_grad(), in_double():
                run(model)
                recorded = list(calls)
                # WavLM's own code computes inference without a mask, and heeds the defaults.
                with torch.set_grad_enabled(name.startswith("wavlm")):
                    self.check(lambda: [
                        each for module, arguments, named in copy.deepcopy(recorded, {id(model): model})
                        for each in module(*arguments, **named) if isinstance(each, torch.Tensor)])


if __name__ == "__main__":
    unittest.main()
