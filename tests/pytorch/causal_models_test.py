"""sg.accelerate on models of text with a term that SDPA lacks: caches, padding, and calls that are their own."""

import copy
import sys
import unittest
import warnings
from unittest import mock

import torch
from accelerate_test import causal_models
from fresh_models import *  # which lacks what transformers lacks

import shiftgrad.torch as sg
from shiftgrad.torch import accelerated

pad_left = torch.arange(T)[None] >= torch.tensor([[0], [3]])  # [B, T]


def both(model):
    """A model as it is, and accelerated."""
    ours = copy.deepcopy(model)
    sg.accelerate(ours)
    return model, ours


def outputs(model, text, **options):
    with in_double(), default_dtype(model.dtype):
        return model(text, **options)


@unittest.skipIf(missing, f"{missing}")
class Causal(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(6)
        self.text = torch.randint(1, 29, (B, T))

    def test_cache(self):
        """A text in parts, the first of several tokens, with the keys of the parts before."""
        for name, model in causal_models():
            with self.subTest(name), torch.no_grad():
                theirs, ours = both(model)
                whole, cache, pieces = outputs(theirs, self.text, use_cache=False).logits, None, []
                with counted() as kernel:
                    for part in self.text.split((6, 1, 2), 1):
                        out = outputs(ours, part, past_key_values=cache, use_cache=True)
                        cache = out.past_key_values
                        pieces.append(out.logits)
                self.assertEqual(kernel.call_count, 3 * L)
                torch.testing.assert_close(torch.cat(pieces, 1), whole, rtol=0, atol=1e-8)

    def test_generation(self):
        for name, model in (*causal_models(), ("t5gemma", t5gemma_model())):
            theirs, ours = both(model)
            for options in ({}, {"num_beams": 2}, {"attention_mask": pad_left.long()}):
                with self.subTest(name, **options), in_double(), default_dtype(torch.float64):
                    options = options | {"max_new_tokens": 6, "min_new_tokens": 6, "eos_token_id": 29,
                                         "decoder_start_token_id": 1}
                    expected = theirs.generate(self.text, **options)
                    with counted() as kernel:
                        got = ours.generate(self.text, **options)
                    self.assertTrue(torch.equal(got, expected))
                    self.assertGreaterEqual(kernel.call_count, 6 * L)

    def test_static_cache(self):
        """A cache with room ahead is left to the module's own code."""
        for model in (gemma_model(), gpt_oss_model(), t5gemma_model()):
            theirs, ours = both(model)
            options = {"max_new_tokens": 4, "min_new_tokens": 4, "cache_implementation": "static",
                       "disable_compile": True, "decoder_start_token_id": 1}
            with in_double():
                self.assertTrue(torch.equal(ours.generate(self.text, **options), theirs.generate(self.text, **options)))

    def test_queries_that_see_nothing(self):
        """All that padding on the left gives, and every gradient; the kernel computes where it has the same ones."""
        for name, model in causal_models():
            theirs, ours = both(model)
            options = {"attention_mask": pad_left.long(), "use_cache": False}
            with self.subTest(name):
                with torch.no_grad(), counted() as kernel:
                    expected, got = (outputs(each, self.text, **options).logits for each in (theirs, ours))
                self.assertEqual(kernel.call_count, L)
                torch.testing.assert_close(got, expected, rtol=0, atol=1e-8)
                with counted() as kernel:
                    for each in (theirs, ours):
                        outputs(each, self.text, **options).logits.sin().sum().backward()
                self.assertEqual(kernel.call_count, L if name.startswith(("gpt_oss", "mpt")) else 0)
                for expected, got in zip(theirs.parameters(), ours.parameters()):
                    torch.testing.assert_close(got.grad, expected.grad, rtol=1e-8, atol=1e-8)

    def test_weights_that_are_asked_for(self):
        for name, model in (*causal_models(), ("mpnet", mpnet_model())):
            theirs, ours = both(model)
            with self.subTest(name), counted() as kernel:
                expected, got = (outputs(each, self.text, output_attentions=True) for each in (theirs, ours))
                self.assertEqual(kernel.call_count, 0)
                self.assertEqual(len(got.attentions), L)
                for a, b in zip((*got.attentions, got[0]), (*expected.attentions, expected[0]), strict=True):
                    torch.testing.assert_close(a, b, rtol=0, atol=1e-12)

    def test_windows(self):
        """A layer with a sliding window gets it as one, and padding as padding."""
        for model in (gemma_model(), gpt_oss_model()):
            ours = both(model)[1]
            with counted() as kernel, torch.no_grad():
                outputs(ours, self.text, attention_mask=kept.long())
            windows = {"sliding_attention": (3, 0), "full_attention": None}
            self.assertEqual([call.kwargs.get("window") for call in kernel.call_args_list],
                             [windows[kind] for kind in model.config.layer_types])
            for call in kernel.call_args_list:
                self.assertTrue(call.kwargs["causal"])
                self.assertNotIn("attention_mask", call.kwargs)
                self.assertEqual(call.args[1].shape[1], 2)  # keys in groups

    def test_alibi_in_floats(self):
        """A distance of thousands is no number of bfloat16; the kernel gets it as the model has it."""
        for model in (mpt_model(max_seq_len=3000), bloom_model()):
            for dtype in (torch.bfloat16, torch.float32):
                ours = both(model.to(dtype))[1]
                with counted() as kernel, torch.no_grad():
                    outputs(ours, self.text)
                self.assertIs(kernel.call_args.kwargs["key_scores"].dtype, torch.float32)

    def test_other_precisions(self):
        for name, model in (*causal_models(), ("mpnet", mpnet_model())):
            theirs, ours = both(model.float())
            exact = theirs(self.text)[0]
            with self.subTest(name):
                with counted() as kernel, torch.autocast("cpu", torch.bfloat16):
                    y = ours(self.text)[0]
                self.assertEqual(kernel.call_count, L)
                self.assertLess((y.float() - exact).abs().max(), 0.05 * exact.abs().max())
                for dtype in (torch.bfloat16, torch.float16):
                    expected, bound = theirs.to(dtype)(self.text)[0], 0.05 * exact.abs().max()
                    with counted() as kernel:
                        y = ours.to(dtype)(self.text)[0]
                    self.assertEqual(kernel.call_count, L)
                    self.assertIs(y.dtype, expected.dtype)
                    self.assertLess((y.float() - exact).abs().max(), bound)
                    self.assertLess((expected.float() - exact).abs().max(), bound)

    def test_dropout(self):
        for name, model in (
                ("gemma2", gemma_model(attention_dropout=0.3)), ("gpt_oss", gpt_oss_model(attention_dropout=0.3)),
                ("bloom", bloom_model(attention_dropout=0.3)), ("mpt", mpt_model(attn_pdrop=0.3)),
                ("mpnet", mpnet_model(attention_probs_dropout_prob=0.3))):
            ours, run = both(model)[1], lambda: outputs(ours, self.text)[0]
            with self.subTest(name):
                check_dropout(self, ours, run)

    def test_dropout_behind_bloom(self):
        """Bloom's attention drops its output, too, as its own code does."""
        theirs, ours = both(bloom_model(hidden_dropout=0.3).train())
        with in_double():
            results = []
            for each in (theirs, ours):
                torch.manual_seed(2)
                results.append(each(self.text).logits)
        torch.testing.assert_close(*results, rtol=0, atol=1e-8)

    def test_compile(self):
        lowest = torch.finfo(torch.float64).min
        hidden = torch.ones(T, T, dtype=torch.bool).triu(1) | ~kept[:, None, None]  # [B, 1, T, T]
        x, added, turn = randn(B, T, C), lowest * hidden.double(), randn(1, T, 4)
        decoder = lambda turn: lambda module: module(x, position_embeddings=(turn, turn), attention_mask=added)[0]
        for theirs, run in (
            (gemma_model().model.layers[0].self_attn, decoder(turn)),
            (gpt_oss_model().model.layers[0].self_attn, decoder(turn[..., :2])),  # which has half of the angles
            (bloom_model().transformer.h[0].self_attention, lambda module: module(x, x, alibi, added)[0]),
            (mpt_model().transformer.blocks[0], lambda module: module(x, bias, hidden)[0]),
        ):
            alibi, bias = randn(B * H, 1, T), randn(H, 1, T + 4)
            with self.subTest(type(theirs).__name__), torch.no_grad():
                ours = both(theirs)[1]
                with in_double():
                    expected = run(theirs)
                torch._dynamo.reset()
                got = torch.compile(run, backend="eager", fullgraph=True)(ours)
                torch.testing.assert_close(got, expected, rtol=0, atol=1e-8)

    def test_gradient_checkpointing(self):
        for model in (gemma_model(), mpt_model()):
            gradients = []
            for each in both(model.train()):
                each.gradient_checkpointing_enable({"use_reentrant": False})
                with in_double(), default_dtype(torch.float64):  # the blocks run again in the backward pass
                    each(self.text, use_cache=False).logits.sin().sum().backward()
                gradients.append([parameter.grad for parameter in each.parameters()])
            for a, b in zip(*gradients, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-8)

    def leaves(self, model, *complaints):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(sg.accelerate(model), [])
        self.assertEqual([str(each.message) for each in caught], [f"accelerate: {each}" for each in complaints])

    def test_configs_that_the_kernel_lacks(self):
        why = 'attends by "sdpa", which leaves its soft cap out; the kernel computes what attn_implementation="eager" does'
        for kind in ("Gemma2", "VaultGemma"):
            self.leaves(gemma_model(kind, "sdpa"), *(
                f"model.layers.{n}.self_attn is left alone: {kind}Attention {why}" for n in range(L)))
        self.leaves(bloom_model(pretraining_tp=2, slow_but_exact=True), *(
            f"transformer.h.{n}.self_attention is left alone: BloomAttention multiplies in slices, by slow_but_exact"
            for n in range(L)))
        model = gemma_model("Gemma2", "sdpa", attn_logit_softcapping=None)
        with self.assertWarnsRegex(UserWarning, "Gemma2ForCausalLM has no attention with relative positions"):
            self.assertEqual(sg.accelerate(model), [])

    def test_another_implementation_afterwards(self):
        theirs, ours = both(gemma_model())
        for each in (theirs, ours):
            each.set_attn_implementation("sdpa")
        with counted() as kernel:
            expected, got = (outputs(each, self.text).logits for each in (theirs, ours))
        self.assertTrue(torch.equal(got, expected))
        self.assertEqual(kernel.call_count, 0)

    def test_head_masks(self):
        for model in (bloom_model(), mpnet_model()):
            theirs, ours = both(model)
            mask = torch.rand(L, H).double()
            mask = mask[:, None, :, None, None] if isinstance(model, transformers.MPNetModel) else mask
            expected, got = (outputs(each, self.text, head_mask=mask)[0] for each in (theirs, ours))
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)

    def test_mpt_alone(self):
        """An attention of MPT outside of its block always returns its weights."""
        theirs, ours = (model.transformer.blocks[0].attn for model in both(mpt_model()))
        x, bias = randn(B, T, C), randn(H, 1, T + 4)
        with counted() as kernel, in_double():
            for a, b in zip(ours(x, bias), theirs(x, bias), strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
        self.assertEqual(kernel.call_count, 0)


@unittest.skipIf(missing, f"{missing}")
class MPNet(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(7)
        self.text = torch.randint(1, 29, (B, T))

    def test_no_dense_bias(self):
        """The layers share a table, which has a row for each distance."""
        ours = both(mpnet_model())[1]
        with counted() as kernel:
            ours(self.text)
        for call in kernel.call_args_list:
            self.assertEqual(call.kwargs["position_scores"].shape, (2 * T - 1, H))

    def test_mixed_layers(self):
        """Layers that compute themselves get the bias in their form, and all do where one is left alone."""
        theirs = mpnet_model()
        expected = theirs(self.text)[0]
        for leave in (lambda layer: setattr(layer.attention.attn, "q", None), lambda layer: None):
            ours = copy.deepcopy(theirs)
            layer, q = ours.encoder.layer[1], ours.encoder.layer[1].attention.attn.q
            leave(layer)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                left = L - len(sg.accelerate(ours))
            layer.attention.attn.q = q
            own = layer.attention.attn
            with counted() as kernel, mock.patch.object(accelerated, "implementation", lambda module: (
                    "another" if module is own else None)):
                torch.testing.assert_close(ours(self.text)[0], expected, rtol=0, atol=1e-8)
            self.assertEqual(kernel.call_count, 0 if left else L - 1)
            self.assertEqual(len(sg.restore(ours)), L - left)
            self.assertTrue(torch.equal(ours(self.text)[0], expected))


if __name__ == "__main__":
    if missing:
        print(f"SKIPPED: {missing}", file=sys.stderr)
    unittest.main()
