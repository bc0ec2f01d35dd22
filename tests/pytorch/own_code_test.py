"""What an attention of transformers could do before sg.accelerate it can afterwards, by its own code where it must."""

import copy
import pickle
import unittest

import torch
from fresh_models import *  # which lacks what transformers lacks
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

import shiftgrad.torch as sg


def pair(module):
    """A module as it is, and one that is accelerated."""
    ours = copy.deepcopy(module)
    sg.accelerate(ours)
    return module, ours


@unittest.skipIf(missing, f"{missing}")
class OwnCode(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(11)
        self.text, self.target = torch.randint(1, 29, (B, T)), torch.randint(1, 29, (B, T - 2))
        self.x = randn(B, T, C)

    def same(self, got, expected, bound=1e-8):
        torch.testing.assert_close(got, expected, rtol=0, atol=bound)

    def run_t5(self, model, **more):
        with in_double():
            return model(input_ids=self.text, decoder_input_ids=self.target, **more)

    def attentions(self, of_parakeet):
        """Attentions without dropout, and a call of each on x [B, T, C]."""
        rows, positions = randn(2 * T, B, C), randn(1, 2 * T - 1, C).expand(B, -1, -1)
        table, seen = deberta_model().encoder.get_rel_embedding().detach(), kept[:, None, None] & kept[:, None, :, None]
        hidden = (torch.finfo(torch.float64).min * (~kept[:, None, None]).double()).expand(B, 1, T, T)
        position = {"cache_position": torch.arange(T)} if transformers.__version__.startswith("4.") else {}
        yield parakeet_encoder(of_parakeet).layers[0].self_attn, lambda module, x: module(x, positions)[0]
        yield bert_encoder().layers[0].self_attn, lambda module, x: module(x, attention_mask=hidden)[0]
        yield vits_encoder().layers[0].attention, lambda module, x: module(x)[0]
        yield t5_model(implementation="eager").encoder.block[0].layer[0].SelfAttention, lambda module, x: module(
            x, mask=hidden, **position)[0]
        yield xlnet_model(attn_type="bi").transformer.layer[0].rel_attn, lambda module, x: module(
            x.transpose(0, 1), None, None, None, rows, None)[0]
        yield deberta_model().encoder.layer[0].attention.self, lambda module, x: module(
            x, seen, rel_embeddings=table)[0]

    def each(self, check, of_parakeet="eager"):
        for module, run in self.attentions(of_parakeet):
            with self.subTest(type(module).__name__), in_double():
                check(*pair(module), run)

    def test_weights_that_are_asked_for(self):
        """Also those of UMT5 in transformers 4, whose attention is not told whether somebody asks."""
        for module, kind in ((t5, "T5"), (mt5, "MT5"), (umt5, "UMT5")):
            theirs, ours = pair(t5_model(module, kind, "eager"))
            for model in (ours, copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
                with self.subTest(kind):
                    expected, got = (self.run_t5(each, output_attentions=True) for each in (theirs, model))
                    self.same(got.logits, expected.logits)
                    for name in ("encoder_attentions", "decoder_attentions", "cross_attentions"):
                        self.assertEqual(len(got[name]), L)
                        for a, b in zip(got[name], expected[name], strict=True):
                            self.same(a, b)
                    with counted() as kernel:
                        out = self.run_t5(model)
                    self.assertEqual(kernel.call_count, 3 * L)
                    self.assertIsNone(out.encoder_attentions)

    def test_weights_of_umt5s_attention_alone(self):
        """Nobody says that they are not wanted."""
        if not transformers.__version__.startswith("4."):
            self.skipTest("this transformers collects them from outside")
        theirs, ours = pair(t5_model(umt5, "UMT5").encoder.block[0].layer[0].SelfAttention)
        with in_double():
            self.same(ours(self.x)[1], theirs(self.x)[1])

    def test_head_masks_of_umt5(self):
        model = t5_model(umt5, "UMT5")
        if not transformers.__version__.startswith("4."):
            self.skipTest("this transformers has no head masks")
        mask = torch.rand(L, H).double()
        expected, got = (self.run_t5(each, head_mask=mask, decoder_head_mask=mask, cross_attn_head_mask=mask).logits
                         for each in pair(model))
        self.same(got, expected)

    def test_hooks_on_dropout(self):
        """A hook on the dropout of the probabilities sees them, and may change them."""
        for model, path in ((deberta_model(), "encoder.layer.0.attention.self.dropout"),
                            (xlnet_model(), "transformer.layer.0.rel_attn.dropout")):
            theirs, ours = pair(model)
            for register in ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"):
                seen, handles = [], []
                for each in (theirs, ours):
                    handles.append(getattr(each.get_submodule(path), register)(
                        lambda module, given, *_: seen.append(given[0])))
                    each(self.text)[0].sum().backward()
                for handle in handles:
                    handle.remove()
                half = len(seen) // 2
                self.assertGreater(half, 0)
                for a, b in zip(seen[:half], seen[half:], strict=True):
                    self.same(b, a)
            with counted() as kernel, torch.no_grad():
                ours(self.text)
            self.assertEqual(kernel.call_count, L)

    def test_hooks_on_all_modules(self):
        seen = []
        theirs, ours = pair(deberta_model())
        with torch.nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(type(module).__name__)):
            theirs(self.text)
            expected = list(seen)
            seen.clear()
            ours(self.text)
        self.assertEqual(seen, expected)

    def test_another_dropout(self):
        """A module in the place of the dropout, such as one that does nothing, or everything."""
        class Halved(torch.nn.Dropout):
            def forward(self, x):
                return x / 2

        for dropout in (torch.nn.Identity(), Halved(0.1)):
            theirs = deberta_model(attention_probs_dropout_prob=0.5)
            theirs.encoder.layer[0].attention.self.dropout = dropout
            theirs, ours = pair(theirs)
            self.same(ours(self.text)[0], theirs(self.text)[0])

    def test_dropout_has_a_mode_of_its_own(self):
        """Monte Carlo dropout: a model in eval whose dropouts train, and the other way round."""
        for model in (deberta_model(attention_probs_dropout_prob=0.3), xlnet_model(dropout=0.3)):
            _, ours = pair(model)
            for drops in (True, False):
                ours.train(not drops)
                for module in ours.modules():
                    if isinstance(module, torch.nn.Dropout):
                        module.train(drops)
                with counted() as kernel:
                    ours(self.text)
                self.assertEqual({call.kwargs["dropout_p"] for call in kernel.call_args_list}, {0.3 if drops else 0.0})

    def test_dropout_of_one(self):
        """It leaves nothing of the values."""
        for model, run in ((deberta_model(attention_probs_dropout_prob=1.0), lambda model: model(self.text)[0]),
                           (t5_model(dropout_rate=1.0), lambda model: self.run_t5(model)[0])):
            theirs, ours = pair(model)
            self.same(run(ours), run(theirs))
            self.same(run(ours.train()), run(theirs.train()))

    def test_second_derivatives(self):
        def check(theirs, ours, run):
            results = []
            for module in (theirs, ours):
                x, parameters = self.x.clone().requires_grad_(), list(module.parameters())
                with counted() as kernel:
                    y = run(module, x)
                self.assertEqual(kernel.call_count > 0, module is ours)
                first = torch.autograd.grad(y.pow(2).sum(), [x, *parameters], create_graph=True, allow_unused=True)
                penalty = sum(each.pow(2).sum() for each in first if each is not None)
                results.append([*first, *torch.autograd.grad(penalty, [x, *parameters], allow_unused=True)])
            for a, b in zip(*results, strict=True):
                self.assertEqual(a is None, b is None)
                if a is not None:
                    self.same(b, a, bound=1e-7 * max(1, a.abs().max().item()))
        self.each(check, of_parakeet="sdpa")  # which does not round its probabilities to floats

    def test_tangents(self):
        tangent = randn(B, T, C)
        def check(theirs, ours, run):
            with forward_ad.dual_level():
                got, expected = (forward_ad.unpack_dual(run(module, forward_ad.make_dual(self.x, tangent))).tangent
                                 for module in (ours, theirs))
            self.same(got, expected)
            got, expected = (torch.func.jvp(lambda x: run(module, x), (self.x,), (tangent,))[1]
                             for module in (ours, theirs))
            self.same(got, expected)
        self.each(check)

    def test_batches_of_gradients(self):
        cotangents = randn(3, B, T, C)
        def check(theirs, ours, run):
            results = []
            for module in (theirs, ours):
                x = self.x.clone().requires_grad_()
                y = run(module, x)
                y = y if y.shape == x.shape else y.transpose(0, 1)
                results.append(torch.autograd.grad(y, x, cotangents, is_grads_batched=True)[0])
            self.same(*results, bound=1e-6)  # Parakeet rounds its probabilities to floats
        self.each(check)

    def test_make_fx(self):
        def check(theirs, ours, run):
            traced = make_fx(lambda x: run(ours, x))(self.x)
            self.same(traced(self.x.flip(1)), run(theirs, self.x.flip(1)))
        self.each(check)

    def test_export_with_a_dynamic_length(self):
        theirs, ours = pair(t5_model().encoder)
        B_, T_ = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("length", min=2, max=512)
        mask = kept.long()
        with in_double():
            exported = torch.export.export(
                ours, (), {"input_ids": self.text, "attention_mask": mask},
                dynamic_shapes={"input_ids": {0: B_, 1: T_}, "attention_mask": {0: B_, 1: T_}}).module()
            for length in (T, 5, 23):
                text = torch.randint(1, 29, (3, length))
                seen = torch.arange(length) < torch.tensor([length, length, length - 2])[:, None]
                self.same(exported(input_ids=text, attention_mask=seen.long())[0],
                          theirs(text, attention_mask=seen.long())[0])

    def test_heads_of_16_bits(self):
        """Weights in bfloat16 or float16 gain as well, and the result is at least as near to the exact one."""
        def check(exact, _, run):
            reference = run(exact, self.x)
            for dtype in (torch.bfloat16, torch.float16):
                theirs, ours = pair(copy.deepcopy(exact).to(dtype))
                with counted() as kernel:
                    got = run(_Casting(ours, dtype), self.x)
                self.assertGreater(kernel.call_count, 0)
                expected = run(_Casting(theirs, dtype), self.x)
                self.assertEqual((got.dtype, expected.dtype), (dtype, dtype))
                errors = [(each.double() - reference).abs().max().item() for each in (got, expected)]
                self.assertLessEqual(errors[0], 1.5 * errors[1] + 1e-3)
                got.float().pow(2).sum().backward()
                for parameter in ours.parameters():
                    self.assertTrue(parameter.grad is None or parameter.grad.isfinite().all())
        self.each(check)


class _Casting:
    """A module that casts the floats that it is given."""

    def __init__(self, module, dtype):
        self.module, self.dtype = module, dtype

    def __call__(self, *arguments, **named):
        return self.module(*map(self.cast, arguments), **{name: self.cast(each) for name, each in named.items()})

    def cast(self, given):
        if isinstance(given, torch.Tensor) and given.is_floating_point():
            return given.clamp(min=torch.finfo(self.dtype).min).to(self.dtype)
        return given


if __name__ == "__main__":
    unittest.main()
