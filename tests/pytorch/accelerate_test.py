"""sg.accelerate on fresh models of every class that it knows: the same outputs, gradients and everything else."""

import contextlib
import copy
import inspect
import itertools
import pickle
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import torch
from torch import distributed
from torch.distributed.fsdp import fully_shard
from fresh_models import *  # which lacks what transformers lacks

import shiftgrad.torch as sg
from shiftgrad.torch import accelerated, known_attentions, visibility


def of_features(model, x, mask=None, **more):
    """The outputs of an encoder of features at the tokens that are kept."""
    y = model(x.clone(), attention_mask=mask, **more)
    y = y if isinstance(y, torch.Tensor) else y[0]
    return [y if mask is None else y[kept[:, :y.shape[1]]]]


def of_parakeet(model, x, mask=None):
    y = model(x, attention_mask=mask).last_hidden_state
    return [y if mask is None else y[model._get_output_attention_mask(mask, target_length=y.shape[1]).bool()]]


def of_tokens(model, text, mask=None):
    """The outputs of a model of text at the tokens that are kept."""
    with default_dtype(model.dtype):
        y = model(text, attention_mask=None if mask is None else mask.long())[0]
    return [y if mask is None else y[mask]]


def causal_models():
    """Each kind of model that writes from left to right, and a model of it."""
    yield "gemma2", gemma_model()
    yield "gemma2 without a cap", gemma_model(attn_logit_softcapping=None)
    yield "vaultgemma", gemma_model("VaultGemma")
    yield "gpt_oss", gpt_oss_model()
    yield "bloom", bloom_model()
    if transformers.__version__.startswith("4."):  # whose block can tell the attention that nobody asks for its weights
        yield "mpt", mpt_model()
        yield "mpt, clipped", mpt_model(clip_qkv=0.3, softmax_scale=0.7)


def of_t5(model, source, target, mask=None):
    options = {} if mask is None else {"attention_mask": mask.long(), "decoder_attention_mask": torch.ones_like(target)}
    out = model(input_ids=source, decoder_input_ids=target, use_cache=False, **options)
    return [out.logits, out.encoder_last_hidden_state[kept] if mask is not None else out.encoder_last_hidden_state]


def of_segments(model, text):
    """Three segments, each with the memory of the one before."""
    outputs, mems = [], None
    for part in text.chunk(3, dim=1):
        options = {"use_mems": True} if isinstance(model.config, transformers.XLNetConfig) else {}
        out = model(part, mems=mems, **options)
        mems = out.mems
        outputs.append(out[0])
    return [*outputs, *(mems or ())]


def cases():
    """Name, model, a function of the model to a list of outputs, and the number of attentions in it."""
    x, audio = randn(B, T, C), randn(B, 4 * T, 8)
    text, target = torch.randint(1, 29, (B, T)), torch.randint(1, 29, (B, T - 2))
    long_text = torch.randint(1, 29, (B, 18))
    heard = torch.arange(4 * T)[None] < torch.tensor([4 * T, 2 * T])[:, None]
    masks = {"": None, " with padding": kept}
    for name, mask in {"": None, " with padding": heard}.items():
        yield "parakeet" + name, parakeet_encoder(), lambda model, mask=mask: of_parakeet(model, audio, mask), L
    yield "parakeet, also what padding gives", parakeet_encoder(), lambda model: [
        model(audio, attention_mask=heard).last_hidden_state], L
    for (name, mask), kind in itertools.product(masks.items(), ("eager", "sdpa")):
        run = lambda model, mask=mask: of_features(model, x, mask)
        yield f"wav2vec2_conformer, {kind}{name}", conformer_encoder(kind), run, L
        yield f"wav2vec2_bert, {kind}{name}", bert_encoder(kind), run, L
        yield f"wav2vec2_bert, relative, {kind}{name}", bert_encoder(kind, position_embeddings_type="relative"), run, L
        if kind == "eager":  # which adds transformers 5's chunks of bools to the score
            continue
        for more in ({}, {"speech_encoder_chunk_size": 20000}, {"speech_encoder_left_chunk_num": -1}):
            yield f"seamless_m4t_v2, {more}{name}", seamless_encoder(kind, **more), run, L
    for name, mask in masks.items():
        yield "fastspeech2_conformer" + name, fastspeech2_encoder(), lambda model, mask=mask: of_features(
            model, x, None if mask is None else mask[:, None]), L
        for window in (2, 20):
            yield f"vits, window {window}{name}", vits_encoder(window), lambda model, mask=mask: of_features(
                model, x, mask, padding_mask=torch.ones(B, T, 1) if mask is None else mask[..., None]), L
        for module, kind in ((t5, "T5"), (mt5, "MT5"), (umt5, "UMT5")):
            for implementation in ("eager", "sdpa") if "sdpa" in _implementations(module, kind) else ("eager",):
                yield f"{kind}, {implementation}{name}", t5_model(module, kind, implementation), (
                    lambda model, mask=mask: of_t5(model, text, target, mask)), 3 * L
        for kind in ("LongT5", "SwitchTransformers"):
            if kind == "LongT5" and mask is not None:
                continue  # whose encoder leaves padding to its own code
            model = t5_model(transformers, kind, **{"local_radius": 2} if kind == "LongT5" else {})
            yield kind + name, model, lambda model, mask=mask: of_t5(model, text, target, mask), 3 * L
        yield "LongT5, transient global" + name, t5_model(
            transformers, "LongT5", local_radius=2, global_block_size=3, encoder_attention_type="transient-global"), (
                lambda model, mask=mask: of_t5(model, text, target, mask)), 2 * L
        yield "pop2piano" + name, t5_model(pop2piano, "Pop2Piano"), lambda model, mask=mask: [model(
            inputs_embeds=x, attention_mask=mask, decoder_input_ids=target, use_cache=False).logits], 3 * L
        for more in ({}, {"max_relative_positions": 4}, {"pos_att_type": ["c2p"]}, {"pos_att_type": ["p2c"]}):
            yield f"deberta, {more}{name}", first_deberta_model(**more), lambda model, mask=mask: of_tokens(
                model, text, mask), L
        yield "seamless_m4t" + name, first_seamless_encoder(), lambda model, mask=mask: of_features(model, x, mask), L
        for stable in (False, True):
            yield f"wavlm, stable {stable}{name}", wavlm_encoder(stable), lambda model, mask=mask: of_features(
                model, x, mask), L
        for most in (4, 20):
            yield f"speecht5, distances up to {most}{name}", speecht5_encoder(encoder_max_relative_position=most), (
                lambda model, mask=mask: of_features(model, x, mask)), L
        for more in ({}, {"position_buckets": -1}, {"share_att_key": False}, {"pos_att_type": ("c2p",)},
                     {"squeeze_factor": 2}):
            yield f"sew_d, {more}{name}", sew_d_encoder(**more), lambda model, mask=mask: of_features(model, x, mask), L
        yield "mpnet" + name, mpnet_model(), lambda model, mask=mask: of_tokens(model, text, mask), L
        for kind, model in causal_models():
            yield kind + name, model, lambda model, mask=mask: of_tokens(model, text, mask), L
        yield "t5gemma" + name, t5gemma_model(), lambda model, mask=mask: of_t5(model, text, target, mask), 3 * L
        for share, buckets, kinds in itertools.product((True, False), (-1, 4), (["c2p", "p2c"], ["p2c"], ["c2p"])):
            if mask is None and kinds != ["c2p", "p2c"]:
                continue
            model = deberta_model(share_att_key=share, position_buckets=buckets, pos_att_type=kinds)
            yield f"deberta_v2, shared {share}, buckets {buckets}, {kinds}{name}", model, (
                lambda model, mask=mask: [model(text, attention_mask=mask).last_hidden_state]), L
    for kind, more in itertools.product(("uni", "bi"), ({}, {"same_length": True}, {"clamp_len": 3}, {"mem_len": 0})):
        yield f"xlnet, {kind}, {more}", xlnet_model(attn_type=kind, **more), lambda model: of_segments(
            model, long_text), L
    yield "xlnet with padding", xlnet_model(attn_type="bi"), lambda model: [
        model(text, attention_mask=kept.double()).logits], L
    yield "xlnet, bi_data", xlnet_model(bi_data=True), lambda model: [model(text).logits], L
    if not transfo_xl_missing:
        for more in ({}, {"same_length": False, "untie_r": False}, {"clamp_len": 4},
                     {"mem_len": 0, "same_length": False}, {"pre_lnorm": True}):
            yield f"transfo_xl, {more}", transfo_xl_model(**more), lambda model: of_segments(model, long_text), L


def _implementations(module, kind):
    return ("eager", "sdpa") if getattr(module, kind + "PreTrainedModel")._supports_sdpa else ("eager",)


def kernel_calls_at(model, run):
    """How many calls the kernel gets no more, by the limit of scores above which it does."""
    sg.accelerate(model)
    fewer, calls = {}, None
    with in_double(), torch.no_grad():
        for limit in range(1, 2 * B * H * T * T):
            if limit > 1 and limit % (B * H) != 1:
                continue
            with least_scores(limit), counted() as kernel:
                run(model)
            if calls is not None and kernel.call_count < calls:
                fewer[limit - 1] = calls - kernel.call_count
            calls = kernel.call_count
            if not calls:
                break
    return fewer


def compare(test, name, model, run, expected_modules, bound=1e-8):
    ours = copy.deepcopy(model)
    before = dict(ours.named_parameters())
    replaced = sg.accelerate(ours)
    test.assertEqual(len(replaced), expected_modules, name)
    test.assertEqual({n: id(p) for n, p in before.items()}, {n: id(p) for n, p in ours.named_parameters()}, name)
    results = []
    for each in (model, ours):
        each.zero_grad()
        with counted() as kernel:
            outputs = run(each)
        cotangents = [torch.sin(torch.arange(y.numel(), dtype=y.dtype)).view(y.shape) for y in outputs]
        torch.autograd.backward([y for y in outputs if y.requires_grad],
                                [c for y, c in zip(outputs, cotangents) if y.requires_grad])
        results.append((outputs, kernel.call_count))
    test.assertEqual(results[0][1], 0, name)
    test.assertGreaterEqual(results[1][1], expected_modules, name)
    for got, expected in zip(results[1][0], results[0][0]):
        test.assertLessEqual((got - expected).abs().max().item(), bound, name)
    for (n, theirs), (_, mine) in zip(model.named_parameters(), ours.named_parameters()):
        test.assertEqual(theirs.grad is None, mine.grad is None, f"{name}: {n}")
        if theirs.grad is not None:
            error = (theirs.grad - mine.grad).abs().max() / theirs.grad.abs().max().clamp(min=1)
            test.assertLessEqual(error.item(), bound, f"{name}: the gradient of {n}")


@unittest.skipIf(missing, f"{missing}")
class SameResults(unittest.TestCase):
    def test_every_class(self):
        torch.manual_seed(1)
        with in_double():
            for name, model, run, modules in cases():
                with self.subTest(name):
                    compare(self, name, model, run, modules)

    def test_short_inputs(self):
        """Calls of few scores are the module's own, to the bit; which these are depends on the scores alone."""
        torch.manual_seed(1)
        with in_double(), torch.no_grad():
            for name, model, run, modules in cases():
                with self.subTest(name), least_scores(10**9):
                    expected = run(model)
                    self.assertEqual(len(sg.accelerate(model)), modules)
                    with counted() as kernel:
                        for got, each in zip(run(model), expected, strict=True):
                            self.assertTrue(torch.equal(got, each))
                    self.assertEqual(kernel.call_count, 0)
        self.assertEqual(kernel_calls_at(t5_model(), lambda model: model(
            input_ids=torch.zeros(B, T, dtype=torch.long), decoder_input_ids=torch.zeros(B, 4, dtype=torch.long))), {
            B * H * T * T: L, B * H * 4 * 4: L, B * H * 4 * T: L})
        text = torch.zeros(B, T, dtype=torch.long)
        self.assertEqual(kernel_calls_at(xlnet_model(), lambda model: model(text)), {B * H * T * T: L})
        self.assertEqual(kernel_calls_at(deberta_model(), lambda model: model(text)), {B * H * T * T: L})
        mems = xlnet_model()(text, use_mems=True).mems
        memory = mems[0].shape[0]
        self.assertGreater(memory, 0)
        self.assertEqual(kernel_calls_at(xlnet_model(), lambda model: model(text, mems=mems)), {
            B * H * T * (T + memory): L})
        audio = randn(B, 2 * T, 8)
        heard = parakeet_encoder()(audio).last_hidden_state.shape[1]
        self.assertEqual(kernel_calls_at(parakeet_encoder(), lambda model: model(audio)), {B * H * heard**2: L})
        # Trainer tells every model that takes more names how many targets a batch has.
        told = lambda model: model(audio, num_items_in_batch=torch.tensor(3))
        self.assertEqual(kernel_calls_at(parakeet_encoder(), told), {B * H * heard**2: L})

    def test_short_inputs_of_threads(self):
        """From the third thread on, a call is short by its scores for each, also where a graph was compiled."""
        theirs, text = deberta_model(), torch.randint(1, 29, (B, T))
        ours = copy.deepcopy(theirs)
        sg.accelerate(ours)
        threads = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, threads)
        with torch.no_grad(), mock.patch.object(accelerated, "LEAST_SCORES", B * H * T * T):
            for number, calls in ((1, L), (2, L), (3, 0)):
                torch.set_num_threads(number)
                with counted() as kernel:
                    got = ours(text).last_hidden_state
                self.assertEqual(kernel.call_count, calls, number)
                torch.testing.assert_close(got, theirs(text).last_hidden_state)
                torch._dynamo.reset()
                compiled = torch.compile(ours, backend="aot_eager", fullgraph=True)
                torch.testing.assert_close(compiled(text).last_hidden_state, got)

    def test_short_steps(self):
        """A token after others has as many scores as there are keys, and layers share a bias across the limit."""
        text, target = torch.randint(1, 29, (B, T)), torch.randint(1, 29, (B, 6))
        for module, kind in ((t5, "T5"), (umt5, "UMT5")):
            theirs = t5_model(module, kind)
            ours = copy.deepcopy(theirs)
            sg.accelerate(ours)
            with in_double(), torch.no_grad(), least_scores(B * H * 5):
                whole, cache = theirs(input_ids=text, decoder_input_ids=target).logits, None
                encoded = ours.encoder(text)
                for n in range(6):
                    with counted() as kernel:
                        out = ours(encoder_outputs=encoded, decoder_input_ids=target[:, n:n + 1], past_key_values=cache,
                                   use_cache=True)
                    cache = out.past_key_values
                    torch.testing.assert_close(out.logits[:, 0], whole[:, n], rtol=0, atol=1e-8)
                    self.assertEqual(kernel.call_count, L + (L if n >= 4 else 0), (kind, n))

    def test_structure_of_masks(self):
        """What is padding, causal, a window or chunks is said so; anything else stays a mask."""
        torch.manual_seed(3)
        delta = torch.arange(T)[:, None] - torch.arange(T)
        chunk = torch.arange(T)[:, None] // 3 - torch.arange(T) // 3
        free = torch.zeros(B, 1, T, dtype=torch.bool)
        for hidden, options in (
            (delta < -T, {}), (delta < 0, {"causal": True}),
            ((delta < 0) | (delta > 2), {"window": (2, 0), "causal": True}),
            ((delta < -1) | (delta > 3), {"window": (3, 1), "causal": False}),
            ((chunk < 0) | (chunk > 1), {"chunk": (3, 1)}), ((delta == 2) | (delta == -3), None),
        ):
            for padding in (free, ~kept[:, None]):
                for blind in (free, ~kept[:, None]):
                    mask = hidden | padding | blind.transpose(1, 2)
                    for read, made in ((visibility.hides, mask), (visibility.seen, ~mask),
                                       (visibility.added, mask.double() * torch.finfo(torch.float64).min)):
                        with mock.patch.object(visibility, "_BLOCK", 2 * B * T):
                            got, nowhere = visibility.structure(made, read)
                        alone = torch.zeros(B, T, dtype=torch.bool) if nowhere is None else nowhere
                        self.assertTrue(torch.equal(mask.all(-1), alone))
                        self.assertTrue(torch.equal(self.hidden(got) | alone[..., None], mask))
                        self.assertEqual("attention_mask" in got, options is None)
                        rule = {name: each for name, each in got.items() if not name.endswith("mask")}
                        self.assertEqual(rule, options or {})
        self.assertIsNone(visibility.structure(-delta.abs()[None].double(), visibility.added))

    def hidden(self, options):
        """What the kernel hides by these options: the keys whose one-hot values are not in its output."""
        ones = torch.zeros(B, 1, T, T, dtype=torch.float64)
        y = sg.relative_attention(ones, ones, torch.eye(T).double().expand(B, 1, T, T), **{"causal": False} | options)
        return y[:, 0] == 0

    def test_two_streams(self):
        """XLNet's, whose own code cannot run them in double."""
        torch.manual_seed(2)
        model, text = xlnet_model().float(), torch.randint(1, 29, (B, T))
        order = torch.ones(T, T).triu(1).expand(B, T, T)
        targets = torch.eye(T)[None].expand(B, T, T)[:, -3:]
        compare(self, "xlnet", model, lambda model: [
            model(text, perm_mask=order, target_mapping=targets).logits], L, bound=1e-4)


    def test_debertas_heads(self):
        """Each model of DeBERTa v2, with the relative attention that its own tests leave out: all that it returns."""
        torch.manual_seed(4)
        text, segments, mask = torch.randint(1, 29, (B, T)), torch.randint(0, 2, (B, T)), kept.long()
        config = deberta_model(pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=2,
                               position_buckets=-1, max_relative_positions=-1).config
        for name in ("Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification",
                     "ForQuestionAnswering", "ForMultipleChoice"):
            many = (lambda x: x[:, None].repeat(1, 3, 1)) if name == "ForMultipleChoice" else lambda x: x
            theirs = randomize(getattr(transformers, "DebertaV2" + name)(config))
            ours = copy.deepcopy(theirs)
            self.assertEqual(len(sg.accelerate(ours)), L)
            for options in ({}, {"output_hidden_states": True}, {"output_attentions": True}):
                with self.subTest(name, **options):
                    expected, got = (model(many(text), attention_mask=many(mask), token_type_ids=many(segments),
                                           return_dict=False, **options) for model in (theirs, ours))
                    self.assertEqual(len(got), len(expected))
                    for a, b in zip(got, expected):
                        for each, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (a, b)), strict=True):
                            torch.testing.assert_close(each, other, rtol=0, atol=1e-8)
            whole, alone = ours(many(text), attention_mask=many(mask))[0], ours(many(text)[1:], many(mask)[1:])[0]
            torch.testing.assert_close(whole[1:], alone, rtol=0, atol=1e-8)


def state_of(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


@unittest.skipIf(missing, f"{missing}")
class Whole(unittest.TestCase):
    """What else a model does."""

    def setUp(self):
        torch.manual_seed(5)
        self.text, self.target = torch.randint(1, 29, (B, T)), torch.randint(1, 29, (B, T - 2))

    def run_t5(self, model, **more):
        with in_double():
            return model(input_ids=self.text, decoder_input_ids=self.target, **more)

    def test_generation(self):
        for module, kind in ((t5, "T5"), (umt5, "UMT5")):
            theirs = t5_model(module, kind)
            ours = copy.deepcopy(theirs)
            sg.accelerate(ours)
            for options in ({}, {"num_beams": 3}, {"attention_mask": kept.long()}):
                with in_double():
                    expected = theirs.generate(self.text, max_new_tokens=7, min_new_tokens=7, **options)
                    with counted() as kernel:
                        got = ours.generate(self.text, max_new_tokens=7, min_new_tokens=7, **options)
                self.assertTrue(torch.equal(got, expected), (kind, options))
                self.assertGreaterEqual(kernel.call_count, L + 7 * 2 * L)

    def test_cache(self):
        """The decoder in parts, the first of several tokens, with the keys of the parts before."""
        for module, kind in ((t5, "T5"), (umt5, "UMT5")):
            theirs = t5_model(module, kind)
            ours = copy.deepcopy(theirs)
            sg.accelerate(ours)
            with in_double():
                whole = theirs(input_ids=self.text, decoder_input_ids=self.target).logits
                cache, pieces = None, []
                with counted() as kernel:
                    for part in self.target.split((3, 1, 2, 1), 1):
                        out = ours(input_ids=self.text, decoder_input_ids=part, past_key_values=cache, use_cache=True)
                        cache = out.past_key_values
                        pieces.append(out.logits)
            self.assertEqual(kernel.call_count, 4 * 3 * L)
            torch.testing.assert_close(torch.cat(pieces, 1), whole, rtol=0, atol=1e-8)

    def test_static_cache(self):
        """A cache with room ahead is left to the module's own code."""
        theirs = t5_model()
        ours = copy.deepcopy(theirs)
        sg.accelerate(ours)
        with in_double():
            options = {"max_new_tokens": 5, "min_new_tokens": 5, "cache_implementation": "static",
                       "disable_compile": True}
            self.assertTrue(torch.equal(
                ours.generate(self.text, **options), theirs.generate(self.text, **options)))

    def test_no_dense_bias(self):
        """T5's bias is a table, which the layers share."""
        model = t5_model()
        sg.accelerate(model)
        attention = model.encoder.block[0].layer[0].SelfAttention
        with mock.patch.object(type(attention), "compute_bias", autospec=True,
                               side_effect=type(attention).compute_bias) as bias:
            with counted() as kernel:
                self.run_t5(model)
        self.assertEqual([call.args[1] for call in bias.call_args_list], [1, 1])
        tables = [call.kwargs.get("position_scores") for call in kernel.call_args_list]
        encoder, decoder = tables[:L], tables[L::2]
        self.assertTrue(all(each is encoder[0] for each in encoder) and all(each is decoder[0] for each in decoder))
        self.assertEqual(encoder[0].shape, (2 * T - 1, H))

    def test_fallback(self):
        """A call that the kernel cannot compute is the module's own, also where layers share a bias."""
        theirs = t5_model(implementation="eager")
        ours = copy.deepcopy(theirs)
        sg.accelerate(ours)
        expected, got = (self.run_t5(model, output_attentions=True) for model in (theirs, ours))
        self.assertEqual(len(got.encoder_attentions), L)
        for name in ("encoder_attentions", "decoder_attentions", "cross_attentions"):
            for a, b in zip(got[name], expected[name], strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=1e-12)

    def test_head_mask(self):
        model = t5_model()
        if "head_mask" not in model.forward.__code__.co_varnames:
            self.skipTest("this transformers has no head masks")
        ours = copy.deepcopy(model)
        sg.accelerate(ours)
        mask = torch.rand(L, H).double()
        expected, got = (self.run_t5(each, head_mask=mask, decoder_head_mask=mask) for each in (model, ours))
        torch.testing.assert_close(got.logits, expected.logits, rtol=0, atol=1e-8)

    def test_mixed_layers(self):
        """Layers of T5 that compute themselves get the bias that accelerated ones pass on, and the other way."""
        theirs = t5_model()
        for own in (0, 1):
            ours = copy.deepcopy(theirs)
            attention = ours.encoder.block[own].layer[0].SelfAttention
            sg.accelerate(ours)
            with mock.patch.object(accelerated, "implementation", lambda module: (
                    "another" if module is attention else None)):
                expected, got = (self.run_t5(each, attention_mask=kept.long()) for each in (theirs, ours))
            torch.testing.assert_close(got.logits, expected.logits, rtol=0, atol=1e-8)

    def test_local_attention(self):
        """LongT5's encoder is a window; padding, weights and head masks are its own, and one layer alone may be, too."""
        theirs = t5_model(transformers, "LongT5", local_radius=2)
        ours = copy.deepcopy(theirs)
        sg.accelerate(ours)
        self.assertEqual(len([name for name, _ in sg.restore(copy.deepcopy(ours)) if name.startswith("encoder")]), L)
        run = lambda model, **more: self.run_t5(model, use_cache=False, **more)
        with counted() as kernel:
            run(ours)
        windows = [call.kwargs.get("window") for call in kernel.call_args_list]
        self.assertEqual(windows, [(2, 2)] * L + [None] * 2 * L)
        tables = [call.kwargs["position_scores"] for call in kernel.call_args_list[:L]]
        self.assertEqual(tables[0].shape, (2 * T - 1, H))
        self.assertTrue(all(each is tables[0] for each in tables))
        heads = torch.rand(L, H).double()
        for options, calls in (({"attention_mask": kept.long()}, 2 * L), ({"output_attentions": True}, 0), (
                {"head_mask": heads, "decoder_head_mask": heads}, L)):
            with self.subTest(options=list(options)), counted() as kernel:
                expected, got = (run(model, **options) for model in (theirs, ours))
                self.assertEqual(kernel.call_count, calls)
                for a, b in zip(expected.encoder_attentions or (), got.encoder_attentions or (), strict=True):
                    torch.testing.assert_close(b, a, rtol=0, atol=1e-8)
                for name in ("logits", "encoder_last_hidden_state"):
                    torch.testing.assert_close(getattr(got, name), getattr(expected, name), rtol=0, atol=1e-8)
        for own in range(L):
            alone = ours.encoder.block[own].layer[0].LocalSelfAttention
            with counted() as kernel, mock.patch.object(
                    accelerated, "implementation", lambda module: "another" if module is alone else None):
                expected, got = (run(model).logits for model in (theirs, ours))
            self.assertEqual(kernel.call_count, 2 * L + (own and L - 1))  # behind a bias in blocks all are their own
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-8)
        ours = t5_model(transformers, "LongT5", local_radius=2, dropout_rate=0.3)
        sg.accelerate(ours)
        check_dropout(self, ours, lambda: run(ours).logits)

    def test_xlnet_segments(self):
        theirs = xlnet_model()
        ours = copy.deepcopy(theirs)
        sg.accelerate(ours)
        for segments in (None, torch.arange(T).expand(B, T) // 4):
            with counted() as kernel, torch.no_grad():
                expected, got = (model(self.text, token_type_ids=segments).logits for model in (theirs, ours))
            self.assertEqual(kernel.call_count, L if segments is None else 0)
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)

    def test_other_masks(self):
        """Numbers that are added to the score, and rows that see nothing, are the module's own."""
        theirs = bert_encoder().layers[0].self_attn
        ours = copy.deepcopy(theirs)
        sg.accelerate(ours)
        self.assertEqual(type(ours).__name__, type(theirs).__name__)
        x, lowest = randn(B, T, C), torch.finfo(torch.float64).min
        nothing = torch.zeros(B, 1, T, T).double()
        nothing[0] = lowest
        for mask, calls in ((randn(B, 1, T, T), 0), (nothing, 0), (torch.zeros(B, 1, T, T).double(), 1)):
            with counted() as kernel:
                expected, got = (each(x, attention_mask=mask)[0] for each in (theirs, ours))
            self.assertEqual(kernel.call_count, calls)
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)

    def test_chunks(self):
        """The chunks of SeamlessM4T-v2 are the kernel's, not a mask."""
        model = seamless_encoder("sdpa")
        sg.accelerate(model)
        with counted() as kernel:
            model(randn(B, T, C), attention_mask=kept)
        for call in kernel.call_args_list:
            self.assertEqual(call.kwargs["chunk"], (4, 1))
            self.assertNotIn("attention_mask", call.kwargs)

    def test_tracing(self):
        """torch.jit.trace records the module's own code."""
        attention = conformer_encoder().layers[0].self_attn.requires_grad_(False)
        x, positions = randn(B, T, C), randn(1, 2 * T - 1, C)
        run = lambda x: attention(x, relative_position_embeddings=positions)[0]
        expected = run(x)
        sg.accelerate(attention)
        torch.testing.assert_close(torch.jit.trace(run, x)(x), expected, rtol=0, atol=1e-10)

    def test_a_changed_mask_is_read_again(self):
        attention = bert_encoder().layers[0].self_attn
        sg.accelerate(attention)
        x, mask = randn(B, T, C), torch.zeros(B, 1, T, T).double()
        first = attention(x, attention_mask=mask)[0]
        mask[..., -2:] = torch.finfo(torch.float64).min
        self.assertGreater((attention(x, attention_mask=mask)[0] - first).abs().max().item(), 1e-3)

    def test_dropout(self):
        """In training the kernel drops; in eval it does not. XLNet drops positions of each member for itself."""
        for model in (xlnet_model(dropout=0.3), t5_model(dropout_rate=0.3),
                      deberta_model(attention_probs_dropout_prob=0.3)):
            sg.accelerate(model)
            run = lambda: (self.run_t5(model) if isinstance(model, t5.T5PreTrainedModel) else model(self.text))[0]
            check_dropout(self, model, run)

    def test_rows_of_each_member(self):
        """Positions that differ between the members of a batch."""
        for theirs, run in (
            (parakeet_encoder().layers[0].self_attn, lambda module, x, rows: module(x, rows)[0]),
            (xlnet_model().transformer.layer[0].rel_attn, lambda module, x, rows: module(
                x.transpose(0, 1), None, None, None, torch.cat([rows[:, :1], rows], 1).transpose(0, 1), None)[0]),
        ):
            ours = copy.deepcopy(theirs)
            sg.accelerate(ours)
            x = randn(B, T, C)
            # XLNet projects them first, and each member's get a gradient of their own.
            alike = 1 if isinstance(theirs, parakeet.ParakeetEncoderAttention) else B
            for rows, calls in ((randn(B, 2 * T - 1, C), B), (randn(1, 2 * T - 1, C).repeat(B, 1, 1), alike)):
                with counted() as kernel:
                    torch.testing.assert_close(run(ours, x, rows), run(theirs, x, rows), rtol=0, atol=1e-10)
                self.assertEqual(kernel.call_count, calls)

    def test_positions_that_are_nearly_alike(self):
        """Dropped positions of XLNet's members, which differ by less than what bfloat16 rounds, and where no row
        differs but the gradients do."""
        theirs = xlnet_model().transformer.layer[0].rel_attn.float()
        rows = torch.randn(2 * T, 1, C).repeat(1, B, 1)
        rows[:, 1, ::2] *= 0.9
        x = torch.randn(T, B, C)
        for weight, precision in ((1, torch.bfloat16), (0, torch.bfloat16), (0, torch.float32)):
            gradients = []
            with torch.no_grad():
                theirs.r.mul_(weight)
            ours = copy.deepcopy(theirs)
            sg.accelerate(ours)
            for module in (theirs, ours):
                module.zero_grad()
                with torch.autocast("cpu", torch.bfloat16, enabled=precision is torch.bfloat16):
                    module(x, None, None, None, rows, None)[0].float().pow(2).sum().backward()
                gradients.append(module.r.grad)
            self.assertLess((gradients[1] - gradients[0]).norm(), 0.03 * gradients[0].norm())

    def test_rows_that_learn_get_gradients_of_their_own(self):
        theirs = parakeet_encoder().layers[0].self_attn
        ours, gradients, x = copy.deepcopy(theirs), [], randn(B, T, C)
        sg.accelerate(ours)
        for module in (theirs, ours):
            rows = torch.zeros(B, 2 * T - 1, C).double().requires_grad_()
            module(x, rows)[0].pow(2).sum().backward()
            gradients.append(rows.grad)
        torch.testing.assert_close(*gradients, rtol=0, atol=1e-8)

    def test_other_precisions(self):
        """Under autocast and of weights in bfloat16 the kernel computes."""
        model = deberta_model().float()
        sg.accelerate(model)
        with counted() as kernel, torch.autocast("cpu", torch.bfloat16):
            under_autocast = model(self.text)[0]
        self.assertEqual(kernel.call_count, L)
        self.assertLess((under_autocast.float() - model(self.text)[0]).abs().max().item(), 0.2)
        exact = model(self.text)[0]
        with counted() as kernel:
            rounded = model.bfloat16()(self.text)[0]
        self.assertEqual(kernel.call_count, L)
        self.assertIs(rounded.dtype, torch.bfloat16)
        self.assertLess((rounded.float() - exact).abs().max().item(), 0.2)

    def test_rounded_input(self):
        """Under autocast the kernel computes also where a layer before the attentions has rounded their input."""
        torch.manual_seed(1)
        x, audio = randn(B, T, C).bfloat16(), randn(B, 4 * T, 8).float()
        heard = torch.arange(4 * T)[None] < torch.tensor([4 * T, 2 * T])[:, None]
        encoders = [(parakeet_encoder(), of_parakeet, audio, heard)] + [
            (encoder, of_features, x, kept) for encoder in (
                conformer_encoder(), bert_encoder(), bert_encoder(position_embeddings_type="relative"),
                seamless_encoder("sdpa"))]
        for (theirs, run, rounded, mask), has_padding in itertools.product(encoders, (False, True)):
            with self.subTest(type(theirs).__name__, has_padding=has_padding):
                mask, theirs = mask if has_padding else None, theirs.float()
                ours, exact = copy.deepcopy(theirs), run(theirs, rounded.float(), mask)[0]
                sg.accelerate(ours)
                errors, gradients = [], []
                for model, calls in ((theirs, 0), (ours, L)):
                    model.zero_grad()
                    with counted() as kernel, torch.autocast("cpu", torch.bfloat16):
                        y = run(model, rounded, mask)[0]
                    self.assertEqual(kernel.call_count, calls)
                    y.float().sin().sum().backward()
                    errors.append((y.float() - exact).abs().max().item())
                    gradients.append([each.grad for each in model.parameters()])
                self.assertLess(errors[1], 2 * errors[0])
                for expected, got in zip(*gradients):
                    self.assertEqual(expected is None, got is None)
                    if expected is not None:
                        self.assertLess((got - expected).norm(), 0.1 * expected.norm() + 1e-2)

    def test_copies_and_files(self):
        model = deberta_model()
        expected, state = model(self.text)[0], state_of(model)
        names = [name for name, _ in sg.accelerate(model)]
        self.assertEqual(names, [f"encoder.layer.{n}.attention.self" for n in range(L)])
        self.assertEqual(list(model.state_dict()), list(state))
        self.assertTrue(all(torch.equal(value, state[name]) for name, value in model.state_dict().items()))
        shallow = copy.copy(model.encoder.layer[0].attention.self)
        self.assertIs(type(shallow), type(model.encoder.layer[0].attention.self))
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            with counted() as kernel:
                torch.testing.assert_close(other(self.text)[0], expected, rtol=0, atol=1e-10)
            self.assertEqual(kernel.call_count, L)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            loaded = transformers.DebertaV2Model.from_pretrained(folder)
            self.assertIs(type(loaded.encoder.layer[0].attention.self), deberta.DisentangledSelfAttention)
            self.assertEqual(len(sg.accelerate(loaded)), L)
            torch.testing.assert_close(loaded.double().eval()(self.text)[0], expected, rtol=0, atol=1e-6)
        with self.assertRaisesRegex(AttributeError, "has no attribute Nothing"):
            accelerated.Nothing

    def test_hooks_and_optimizer(self):
        model = deberta_model()
        seen = []
        model.encoder.layer[0].attention.self.register_forward_hook(lambda module, x, y: seen.append(y))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        sg.accelerate(model)
        before = state_of(model)
        model(self.text)[0].pow(2).sum().backward()
        optimizer.step()
        self.assertEqual(len(seen), 1)
        name = "encoder.layer.0.attention.self.query_proj.weight"
        self.assertFalse(torch.equal(model.state_dict()[name], before[name]))

    def test_gradient_checkpointing(self):
        for theirs, run in ((deberta_model(), lambda model: model(self.text)[0]),
                            (t5_model(), lambda model: self.run_t5(model, use_cache=False)[0])):
            gradients = []
            for ours in (False, True):
                model = copy.deepcopy(theirs).train()
                model.gradient_checkpointing_enable({"use_reentrant": False})
                if ours:
                    sg.accelerate(model)
                with in_double():
                    run(model).pow(2).sum().backward()
                gradients.append([p.grad for p in model.parameters() if p.grad is not None])
            for a, b in zip(*gradients, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-8)

    def test_compile(self):
        x, lowest = randn(B, T, C), torch.finfo(torch.float64).min
        padding = (lowest * (~kept[:, None, None]).double()).expand(B, 1, T, T)
        causal = (lowest * torch.ones(T, T).triu(1).double()).expand(B, 1, T, T)
        deberta_model_, shared = deberta_model(), kept[:, None, None] & kept[:, None, :, None]
        table = deberta_model_.encoder.get_rel_embedding().detach()
        position = {"cache_position": torch.arange(T)} if transformers.__version__.startswith("4.") else {}
        for theirs, run in (
            (bert_encoder().layers[0].self_attn, lambda module: module(x, attention_mask=padding)[0]),
            (deberta_model_.encoder.layer[0].attention.self, lambda module: module(x, shared, rel_embeddings=table)[0]),
            (t5_model().decoder.block[0].layer[0].SelfAttention, lambda module: module(
                x, mask=causal, **position)[0]),
        ):
            ours = copy.deepcopy(theirs)
            sg.accelerate(ours)
            with in_double():
                expected = run(theirs)
            torch._dynamo.reset()
            got = torch.compile(run, backend="aot_eager", fullgraph=True)(ours)
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-8)
            got.sum().backward()

    def test_compiled_lengths(self):
        """Under a compiler, too, a call is the module's own code's below the limit, and the kernel's from there."""
        theirs = bert_encoder().layers[0].self_attn
        ours = copy.deepcopy(theirs)
        sg.accelerate(ours)
        torch._dynamo.reset()
        kernel = []  # whether each graph has it

        def backend(graph, _):
            kernel.append("shiftgrad" in graph.code)
            return graph

        compiled = torch.compile(lambda module, x: module(x)[0], backend=backend, fullgraph=True, dynamic=True)
        with least_scores(B * H * T * T), torch.no_grad():
            for length in (T - 2, T, T + 3, T - 1):
                x = randn(B, length, C)
                torch.testing.assert_close(compiled(ours, x), theirs(x)[0], rtol=0, atol=1e-8)
        self.assertEqual(kernel, [False, True])

    def test_compiled_models(self):
        for theirs in (deberta_model(), xlnet_model()):
            expected = theirs(self.text, attention_mask=kept.long())[0]
            ours = copy.deepcopy(theirs)
            sg.accelerate(ours)
            torch._dynamo.reset()
            got = torch.compile(ours, backend="aot_eager")(self.text, attention_mask=kept.long())[0]
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-8)

    def test_restore(self):
        """Modules get their own classes back, so that what pickle writes needs nothing of this package."""
        for model, run in ((t5_model(), lambda model: self.run_t5(model).logits),
                           (t5_model(umt5, "UMT5"), lambda model: self.run_t5(model).logits),
                           (deberta_model(), lambda model: model(self.text)[0])):
            kinds, expected = [type(module) for module in model.modules()], run(model)
            replaced = sg.accelerate(model)
            self.assertIn(b"shiftgrad", pickle.dumps(model))
            self.assertEqual(sg.restore(model), replaced)
            self.assertEqual([type(module) for module in model.modules()], kinds)
            self.assertNotIn(b"shiftgrad", pickle.dumps(model))
            self.assertTrue(torch.equal(run(model), expected))
            self.assertEqual(sg.restore(model), [])
            self.assertEqual(sg.accelerate(model), replaced)
        model = parakeet_encoder()
        sg.accelerate(model)
        attention = model.layers[1].self_attn
        torch.nn.utils.parametrize.register_parametrization(attention, "bias_u", torch.nn.Identity())
        with self.assertRaisesRegex(ValueError, "^restore: layers.1.self_attn is a Parametrized.* remove its param"):
            sg.restore(model)
        torch.nn.utils.parametrize.remove_parametrizations(attention, "bias_u")
        self.assertEqual(len(sg.restore(model)), L)
        with self.assertRaisesRegex(TypeError, "^restore: model is int, expected a torch.nn.Module$"):
            sg.restore(3)

    def test_twice(self):
        model = deberta_model()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(len(sg.accelerate(model)), L)
            self.assertEqual(sg.accelerate(model), [])

    def test_unknown_modules(self):
        for model in (torch.nn.TransformerEncoderLayer(C, H), torch.nn.Linear(2, 2), vits_encoder(window=0),
                      conformer_encoder(position_embeddings_type="rotary")):
            before = [type(module) for module in model.modules()]
            with self.assertWarns(UserWarning) as caught:
                self.assertEqual(sg.accelerate(model), [])
            line = str(caught.warning)
            self.assertTrue(line.startswith(
                f"accelerate: {type(model).__name__} has no attention with relative positions that the kernel knows, so "
                "nothing is replaced; looked for ParakeetEncoderAttention, "), line)
            for path in known_attentions.known:
                self.assertIn(path.rpartition(".")[2], line)
            self.assertEqual([type(module) for module in model.modules()], before)

        class Own(t5.T5Attention):
            pass

        model = t5_model()
        model.encoder.block[0].layer[0].SelfAttention.__class__ = Own
        self.leaves(model, "encoder.block.0.layer.0.SelfAttention is left alone: Own is derived from T5Attention and may "
                    "compute otherwise", 3 * L - 1)

    def leaves(self, model, complaint, replaced):
        """accelerate warns once, with this complaint, and replaces so many attentions."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(len(sg.accelerate(model)), replaced)
        self.assertEqual([str(each.message) for each in caught], [f"accelerate: {complaint}"])

    def test_sharded_attentions(self):
        """fully_shard gives a module a class of its own for good, so accelerate and restore go before it."""
        with tempfile.TemporaryDirectory() as folder:
            distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=0, world_size=1)
            self.addCleanup(distributed.destroy_process_group)
            why = "FSDPParakeetEncoderAttention is derived from ParakeetEncoderAttention; call accelerate before fully_shard, " \
                "which cannot be undone"
            every = " and ".join(f"layers.{n}.self_attn" for n in range(L))
            for sharded, complaint in (range(L), f"{every} are left alone: {why}"), (
                    [1], f"layers.1.self_attn is left alone: {why}"):
                model = parakeet_encoder()
                for n in sharded:
                    fully_shard(model.layers[n].self_attn)
                self.leaves(model, complaint, L - len(sharded))
            model = parakeet_encoder()
            sg.accelerate(model)
            fully_shard(model)
            self.assertEqual(len(sg.restore(model)), L)  # the attentions have classes of their own still
            model = parakeet_encoder()
            sg.accelerate(model)
            fully_shard(model.layers[1].self_attn)
            with self.assertRaises(ValueError) as refused:
                sg.restore(model)
            self.assertEqual(str(refused.exception), (
                "restore: layers.1.self_attn is a FSDPParakeetEncoderAttention made of the accelerated "
                "ParakeetEncoderAttention, expected that one; fully_shard cannot be undone, so call restore before it"))
            if "layer_head_mask" in inspect.signature(umt5.UMT5Block.forward).parameters:
                model = t5_model(umt5, "UMT5")
                fully_shard(model.encoder.block[0])
                self.leaves(model, "encoder.block.0 is left alone: FSDPUMT5Block is derived from UMT5Block; call accelerate "
                            "before fully_shard, which cannot be undone", 3 * L)

    def test_parametrized_attentions(self):
        model = parakeet_encoder()
        torch.nn.utils.parametrize.register_parametrization(model.layers[0].self_attn, "bias_u", torch.nn.Identity())
        self.leaves(model, "layers.0.self_attn is left alone: ParametrizedParakeetEncoderAttention is derived from "
                    "ParakeetEncoderAttention; remove its parametrization first", L - 1)

    def test_other_attributes(self):
        """A module that is not what its row says is left alone, and named."""
        path = "encoder.block.0.layer.0.SelfAttention"
        kind, version = "T5Attention", known_attentions.known['t5.modeling_t5.T5Attention'].checked
        for change, complaint in (
            (lambda module: delattr(module, "key_value_proj_dim"), f"{kind} has no key_value_proj_dim, as {version}"),
            (lambda module: setattr(module, "q", None), f"{kind}.q is no Module, as in {version}"),
            (lambda module: delattr(module, "relative_attention_bias"), f"{kind} is not built as in {version}"),
            (lambda module: setattr(module, "forward", lambda *_: None), f"{kind} has a forward of its own"),
        ):
            model = t5_model()
            change(model.get_submodule(path))
            with self.assertWarns(UserWarning) as caught:
                replaced = sg.accelerate(model)
            self.assertIn(f"accelerate: {path} is left alone: {complaint}", str(caught.warning))
            self.assertEqual(len(replaced), 3 * L - 1)
            self.assertIs(type(model.get_submodule(path)), t5.T5Attention)

    def test_half_way(self):
        """When it fails half way, nothing in the model has changed."""
        model = t5_model()
        kinds = [type(module) for module in model.modules()]

        class Stubborn(t5.T5Attention):
            def __setattr__(self, name, value):
                if name == "__class__":
                    raise RuntimeError("no")
                super().__setattr__(name, value)

        module = model.decoder.block[1].layer[1].EncDecAttention
        bound = model.encoder.block[0].layer[0].SelfAttention
        bound.forward = bound.forward  # as transformers 4 leaves it after it has recorded outputs
        object.__setattr__(module, "__class__", Stubborn)
        row = known_attentions.known["t5.modeling_t5.T5Attention"]
        with mock.patch.dict(known_attentions.known, {f"{__name__}.{Stubborn.__qualname__}": row}):
            with self.assertRaisesRegex(RuntimeError, "no"):
                sg.accelerate(model)
        object.__setattr__(module, "__class__", t5.T5Attention)
        self.assertEqual([type(module) for module in model.modules()], kinds)
        self.assertIn("forward", vars(bound))
        self.assertEqual(len(sg.accelerate(model)), 3 * L)
        with counted() as kernel:
            self.run_t5(model)
        self.assertEqual(kernel.call_count, 3 * L)

    def test_bad_input(self):
        for bad in (None, "model", 3, [torch.nn.Linear(2, 2)], deberta.DebertaV2Model):
            with self.assertRaisesRegex(TypeError, "accelerate: model is [A-Za-z]+, expected a torch.nn.Module$"):
                sg.accelerate(bad)

    def test_recorded_attentions(self):
        """transformers collects the probabilities of Parakeet from outside."""
        theirs, audio = parakeet_encoder("eager"), randn(B, 4 * T, 8)
        ours = copy.deepcopy(theirs)
        sg.accelerate(ours)
        for ask in ("call", "config"):
            theirs.config.output_attentions = ours.config.output_attentions = ask == "config"
            options = {"output_attentions": True} if ask == "call" else {}
            expected, got = (model(audio, **options).attentions for model in (theirs, ours))
            self.assertEqual(len(got), L)
            for a, b in zip(got, expected, strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=1e-6)
        with counted() as kernel:
            ours.config.output_attentions = False
            ours(audio, output_hidden_states=True)
        self.assertEqual(kernel.call_count, L)


if __name__ == "__main__":
    if missing or transfo_xl_missing:
        print(f"SKIPPED in part: {missing or transfo_xl_missing}", file=sys.stderr)
    unittest.main()
