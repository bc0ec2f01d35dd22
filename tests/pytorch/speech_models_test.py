"""sg.accelerate on speech models whose layers share what depends on the distance: calls of every kind."""

import copy
import sys
import unittest
import warnings
from unittest import mock

import torch
from fresh_models import *  # which lacks what transformers lacks

import shiftgrad.torch as sg
from shiftgrad.torch import accelerated

is_4 = not missing and transformers.__version__.startswith("4.")


def encoders(**dropout):
    """Each kind of encoder, and one of it."""
    yield "wavlm", wavlm_encoder(**dropout)
    yield "speecht5", speecht5_encoder(**dropout)
    yield "sew_d", sew_d_encoder(**dropout)


def both(model):
    """A model as it is, and accelerated."""
    ours = copy.deepcopy(model)
    sg.accelerate(ours)
    return model, ours


def output(model, x, **options):
    return model(x.clone(), **options)[0]  # an encoder writes zeros over padding


@unittest.skipIf(missing, f"{missing}")
class Speech(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(8)
        self.x = randn(B, T, C)

    @unittest.skipUnless(is_4, "transformers 5 gives no weights but by hooks of its models")
    def test_weights_that_are_asked_for(self):
        for name, model in encoders():
            theirs, ours = both(model)
            with self.subTest(name), counted() as kernel:
                expected, got = (each(self.x.clone(), output_attentions=True) for each in (theirs, ours))
                self.assertEqual(kernel.call_count, 0)
                self.assertEqual(len(got.attentions), L)
                for a, b in zip((*got.attentions, got[0]), (*expected.attentions, expected[0]), strict=True):
                    torch.testing.assert_close(a, b, rtol=0, atol=1e-12)

    @unittest.skipUnless(is_4, "transformers 5 has no head masks")
    def test_head_mask(self):
        theirs, ours = both(speecht5_encoder())
        mask = torch.rand(L, H).double()
        with counted() as kernel:
            expected, got = (output(each, self.x, head_mask=mask) for each in (theirs, ours))
        self.assertEqual(kernel.call_count, 0)
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)

    def test_mixed_layers(self):
        """A layer that computes itself gets what the layers share in its own form."""
        for name, model in encoders():
            for own in range(L):
                theirs, ours = both(model)
                alone = ours.get_submodule(sg.restore(copy.deepcopy(ours))[own][0])
                with self.subTest(name, own=own), counted() as kernel, mock.patch.object(
                        accelerated, "implementation", lambda module: "another" if module is alone else None):
                    expected, got = (output(each, self.x) for each in (theirs, ours))
                    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)
                # The layers of WavLM behind a dense bias compute themselves, too.
                self.assertEqual(kernel.call_count, 0 if name == "wavlm" and own == 0 else L - 1)

    def test_layers_left_alone(self):
        """SpeechT5's encoder makes its dense keys where a layer was left alone, and is as before when restored."""
        theirs = speecht5_encoder()
        ours, expected = copy.deepcopy(theirs), output(theirs, self.x)
        attention = ours.wrapped_encoder.layers[1].attention
        project, attention.q_proj = attention.q_proj, None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(len(sg.accelerate(ours)), L - 1)
        attention.q_proj = project
        with counted() as kernel:
            torch.testing.assert_close(output(ours, self.x), expected, rtol=0, atol=1e-12)
        self.assertEqual(kernel.call_count, 0)
        self.assertEqual(len(sg.restore(ours)), L - 1)
        self.assertTrue(torch.equal(output(ours, self.x), expected))

    def test_no_dense_positions(self):
        """What the layers share has a row for each distance."""
        for model, term, shape in ((wavlm_encoder(), "position_rows", (2 * T - 1, H, C // H + 1)),
                                   (speecht5_encoder(), "clipped_keys", (9, 1, C // H))):
            ours = both(model)[1]
            names = list(ours.state_dict())
            with counted() as kernel:
                output(ours, self.x)
            self.assertEqual([call.kwargs[term].shape for call in kernel.call_args_list], [shape] * L)
            self.assertEqual(list(ours.state_dict()), names)

    def test_padding_of_a_whole_member(self):
        """Queries that see no key are the module's own, but SEW-D's, which give 0."""
        some = torch.ones(B, T, dtype=torch.bool)
        some[1] = False
        for name, model in encoders():
            theirs, ours = both(model)
            with self.subTest(name), counted() as kernel:
                expected, got = (output(each, self.x, attention_mask=some) for each in (theirs, ours))
                torch.testing.assert_close(got, expected, rtol=0, atol=1e-12, equal_nan=True)
            self.assertEqual(kernel.call_count, L if name == "sew_d" else 0)

    def test_other_masks_of_wavlm(self):
        """A mask of numbers, which its attention takes for bools, is its own."""
        theirs = wavlm_encoder().layers[0].attention
        ours = both(theirs)[1]
        for mask, calls in ((kept, 1), (kept.long(), 0), (kept.long() * 2, 0)):
            with counted() as kernel:
                expected, got = (each(self.x, attention_mask=mask)[0] for each in (theirs, ours))
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-12, equal_nan=True)
            self.assertEqual(kernel.call_count, calls)

    def test_wavlm_without_mask(self):
        """Without a mask and gradients, WavLM's own code gains too little by the kernel to call it."""
        theirs, ours = both(wavlm_encoder())
        for mask, gradients, calls in ((None, False, 0), (None, True, L), (kept, False, L), (kept, True, L)):
            with counted() as kernel, torch.set_grad_enabled(gradients):
                expected, got = (output(each, self.x, attention_mask=mask) for each in (theirs, ours))
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)
            self.assertEqual(kernel.call_count, calls)

    def test_dropout(self):
        for name, model in encoders(attention_dropout=0.3):
            ours = both(model)[1]
            with self.subTest(name):
                check_dropout(self, ours, lambda: output(ours, self.x))

    def test_dropout_of_sew_d(self):
        """Its dropout of a class of its own, where it has a context or a hook, is the module's own."""
        for change in (lambda dropout: dropout.init_context(),
                       lambda dropout: dropout.register_forward_hook(lambda *_: None)):
            ours = both(sew_d_encoder())[1]
            for module in ours.modules():
                if type(module).__name__ == "StableDropout":
                    change(module)
            with counted() as kernel:
                output(ours, self.x)
            self.assertEqual(kernel.call_count, 0)

    def test_other_precisions(self):
        for name, model in encoders():
            theirs, ours = both(model.float())
            x = self.x.float()
            exact = output(theirs, x)
            with self.subTest(name):
                with counted() as kernel, torch.autocast("cpu", torch.bfloat16):
                    y = output(ours, x)
                self.assertEqual(kernel.call_count, L)
                self.assertLess((y.float() - exact).abs().max(), 0.05 * exact.abs().max())
                with counted() as kernel:
                    y = output(ours.bfloat16(), x.bfloat16())
                self.assertEqual(kernel.call_count, L)
                self.assertIs(y.dtype, torch.bfloat16)
                self.assertLess((y.float() - exact).abs().max(), 0.05 * exact.abs().max())

    def test_compile(self):
        """An attention alone compiles to one graph, and a whole encoder computes the same."""
        attention = wavlm_encoder().layers[0].attention
        ours, run = both(attention)[1], lambda module: module(self.x, attention_mask=kept)[0]
        torch._dynamo.reset()
        got = torch.compile(run, backend="aot_eager", fullgraph=True)(ours)
        torch.testing.assert_close(got, run(attention), rtol=0, atol=1e-8)
        got.sum().backward()
        for name, model in encoders():
            theirs, ours = both(model)
            torch._dynamo.reset()
            with self.subTest(name), torch.no_grad():
                got = torch.compile(ours, backend="eager")(self.x)[0]
                torch.testing.assert_close(got, output(theirs, self.x), rtol=0, atol=1e-8)

    def test_gradient_checkpointing(self):
        for name, model in encoders():
            gradients = []
            for each in both(model.train()):
                for layer in each.modules():
                    if hasattr(layer, "gradient_checkpointing"):
                        layer.gradient_checkpointing = True
                        layer._gradient_checkpointing_func = lambda run, *inputs: torch.utils.checkpoint.checkpoint(
                            run, *inputs, use_reentrant=False)
                output(each, self.x).sin().sum().backward()
                gradients.append([parameter.grad for parameter in each.parameters()])
            for expected, got in zip(*gradients, strict=True):
                self.assertEqual(expected is None, got is None)
                if expected is not None:
                    torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-8)


if __name__ == "__main__":
    if missing:
        print(f"SKIPPED: {missing}", file=sys.stderr)
    unittest.main()
