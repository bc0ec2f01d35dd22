"""What every public function says of an argument that it cannot take: one line, with the function, the argument, its
value and what was expected."""

import inspect
import math
import unittest

import numpy as np
import torch

import shiftgrad.torch as sg

B, H, T, D = 2, 2, 3, 4
q = torch.zeros(B, H, T, D)
x, tokens = torch.zeros(B, T, D), torch.zeros(1, T, dtype=torch.int64)
hidden = torch.zeros(B, T, dtype=torch.bool)
numbers = (
    ("x", "'x'"), ("0.5", "'0.5'"), (True, "True"), ([1], "[1]"), (1j, "1j"), (np.zeros(2), "ndarray [2]"),
    (np.zeros(1), "ndarray [1]"), (torch.zeros(3, 3), "Tensor [3, 3]"), (np.True_, "np.True_"),
    (torch.tensor(0.5, requires_grad=True), "tensor(0.5000, requires_grad=True)"),
)
whole_numbers = (
    ("x", "'x'"), (True, "True"), (2.5, "2.5"), (2.0, "2.0"), ({1}, "{1}"), (np.zeros(2), "ndarray [2]"),
    (torch.tensor(True), "tensor(True)"), (np.True_, "np.True_"), (math.nan, "nan"),
)
flags = (("no", "'no'"), (None, "None"), (1, "1"), (0.0, "0.0"), (np.zeros(2), "ndarray [2]"), (x, f"Tensor {list(x.shape)}"))
no_tensors = (
    ("x", "str"), (1.0, "float"), (True, "bool"), ([[1.0]], "list"), (np.zeros(3), "ndarray"), (torch.nn.Linear, "type"))


class Arguments(unittest.TestCase):
    def refused(self, error, line, run):
        with self.subTest(line), self.assertRaises(error) as refused:
            run()
        self.assertEqual(str(refused.exception), line)

    def wrong(self, name, argument, call, cases, expected):
        """call(**{argument: each}) is a TypeError for each wrong value."""
        for value, shown in cases:
            self.refused(TypeError, f"{name}: {argument} is {shown}, expected {expected}", lambda: call(**{argument: value}))

    def attend(self, **given):
        given = {"q": q, "k": q, "v": q} | given
        heads = [given.pop(name) for name in "qkv"]
        return sg.relative_attention(*heads, **given)

    def test_every_function_and_class_is_here(self):
        """A new argument of a public function needs a line below."""
        self.assertEqual(sg.__all__, [
            "EncoderDecoder", "LanguageModel", "Layer", "Vocabulary", "accelerate", "empty_cache", "layer", "load",
            "relative_attention", "restore", "set_precision"])
        self.assertEqual(list(inspect.signature(sg.relative_attention).parameters), [
            "q", "k", "v", "content_bias", "position_bias", "position_rows", "position_queries", "position_scores",
            "clipped_keys", "clipped_values", "key_scores", "sink", "scale", "causal", "window", "chunk", "always", "spans",
            "soft_cap", "key_padding_mask", "attention_mask",
            "dropout_p"])

    def test_tensors_of_attention(self):
        names = list(inspect.signature(sg.relative_attention).parameters)[:12]
        with_autocast = torch.autocast("cpu", torch.bfloat16)
        for name in names:
            missing = ((None, "NoneType"),) if name in "qkv" else ()
            self.wrong("relative_attention", name, self.attend, no_tensors + missing, "a torch.Tensor")
            self.wrong("relative_attention", name, with_autocast(self.attend), no_tensors + missing, "a torch.Tensor")
            for other in (q.long(), q.bfloat16(), q.to(torch.complex64)):
                self.refused(TypeError, f"relative_attention: {name} is {other.dtype}, expected torch.float32 or torch.float64",
                             lambda: self.attend(**{name: other}))
            for other in (q.to("meta"), q.to_sparse()):
                self.refused(TypeError, f"relative_attention: {name} is {other.layout} on {other.device}, expected "
                             "torch.strided on cpu", lambda: self.attend(**{name: other}))
            with self.assertRaisesRegex(ValueError, rf"^relative_attention: .*\b{name} \[7\],[^\n]* expected \[[^\n]*$"):
                self.attend(**{name: torch.zeros(7)})
        self.refused(ValueError, "relative_attention: q [2, 2, 3, 4], k [2, 2, 3, 3], v [2, 2, 3, 4], expected [B, H, T, D], "
                     "[B, G, K, D] and [B, G, K, E], where G divides H", lambda: sg.relative_attention(q, q[..., :3], q))

    def test_options_of_attention(self):
        for name in ("scale", "dropout_p", "soft_cap"):
            missing = ((None, "None"),) if name == "dropout_p" else ()
            self.wrong("relative_attention", name, self.attend, numbers + missing, "a number")
            for value in (math.nan, math.inf, -math.inf):
                self.refused(ValueError, f"relative_attention: {name} is {value}, expected a finite number",
                             lambda: self.attend(**{name: value}))
            self.refused(ValueError, f"relative_attention: {name} is 1{'0' * 79}…, expected a number that a float can have",
                         lambda: self.attend(**{name: 10**400}))
        for cap in (0, -1.5):
            self.refused(ValueError, f"relative_attention: a soft_cap of {cap}, expected a number above 0 within the range of "
                         "the tensors", lambda: self.attend(soft_cap=cap))
        self.wrong("relative_attention", "always", self.attend, whole_numbers, "a whole number")
        for always, line in ((0, "0, expected at least 1"), (-2, "-2, expected at least 1"),
                             ([1, 2], "[1,2], expected a whole number"),
                             (10**30, "1e+30, expected 1 to 9223372036854775807")):
            self.refused(ValueError, f"relative_attention: an always of {line}", lambda: self.attend(always=always))
        for rate in (1, 1.5, -0.1):
            self.refused(ValueError, f"relative_attention: dropout_p is {rate}, expected 0 to below 1",
                         lambda: self.attend(dropout_p=rate))
        self.wrong("relative_attention", "causal", self.attend, flags, "True or False")
        for name in ("window", "chunk"):
            self.wrong("relative_attention", name, self.attend, whole_numbers, "a whole number")
            for value, shown in whole_numbers:
                self.refused(TypeError, f"relative_attention: {name} is {shown}, expected a whole number",
                             lambda: self.attend(**{name: (1, value)}))
        for window, shown in ((-3, "-3, expected at least 1"), ((-1, 1), "[-1, 1], expected at least 0"), (
                (1, 2, 3), "[1,2,3], expected two whole numbers"), ([], "[], expected two whole numbers")):
            self.refused(ValueError, f"relative_attention: a window of {shown}", lambda: self.attend(window=window))
        for chunk, shown in ((-3, "-3, expected two whole numbers"), ((0, 1), "[0, 1], expected at least 1"), (
                10**30, "1e+30, expected two whole numbers from 0 to 9223372036854775807")):
            self.refused(ValueError, f"relative_attention: a chunk of {shown}", lambda: self.attend(chunk=chunk))
        for given in (np.float32(0.5), np.float64(0.5), torch.tensor(0.5), torch.tensor(0.5, dtype=torch.float64)):
            self.assertEqual(self.attend(scale=given).shape, q.shape)  # they are numbers
        self.assertEqual(self.attend(window=np.int32(2), causal=np.False_).shape, q.shape)

    def test_masks(self):
        layer = sg.layer("multi_head_attention", d_model=D, n_head=2)
        for name, call in (("relative_attention", self.attend), ("multi_head_attention", lambda **given: layer(x, **given))):
            for mask in ("key_padding_mask", "attention_mask"):
                self.wrong(name, mask, call, no_tensors, "a torch.Tensor")
                for other in (hidden.float(), hidden.float().requires_grad_()):
                    self.wrong(name, mask, call, ((other, "torch.float32"),), "torch.bool, true = hidden")
                self.wrong(name, mask, call, ((hidden.to_sparse(), "torch.sparse_coo"),), "torch.strided")
                self.refused(TypeError, f"{name}: {mask} is on meta, expected cpu", lambda: call(**{mask: hidden.to("meta")}))
                with self.assertRaisesRegex(ValueError, rf"^relative_attention: {mask} \[7\], expected \[[^\n]*$"):
                    call(**{mask: hidden.new_zeros(7)})

    def test_spans(self):
        self.wrong("relative_attention", "spans", self.attend, no_tensors, "a torch.Tensor")
        for spans in (q, q.bool(), q.to(torch.int16)):
            self.refused(TypeError, f"relative_attention: spans is {spans.dtype}, expected torch.int32 or torch.int64",
                         lambda: self.attend(spans=spans))
        self.refused(TypeError, "relative_attention: spans is torch.strided on meta, expected torch.strided on cpu",
                     lambda: self.attend(spans=q.long().to("meta")))

    def test_layers(self):
        layer = sg.layer("multi_head_attention", d_model=D, n_head=2)
        call = lambda **given: layer(**{"x": x} | given)
        for name in ("x", "memory", "context"):
            missing = ((None, "NoneType"),) if name == "x" else ()
            self.wrong("multi_head_attention", name, call, no_tensors + missing, "a torch.Tensor")
            self.wrong("multi_head_attention", name, torch.autocast("cpu", torch.bfloat16)(call), no_tensors, "a torch.Tensor")
        for name in ("need_weights", "average_attn_weights"):
            self.wrong("multi_head_attention", name, call, flags, "True or False")
        self.wrong("multi_head_attention", "limit", layer.start, whole_numbers, "a whole number")
        self.refused(TypeError, "multi_head_attention: the state is str, expected what start() of this module gave",
                     lambda: layer.step(x, "x"))
        self.refused(ValueError, "multi_head_attention: context [3, 4], expected [B, S, 4]", lambda: layer(x, context=x[0]))
        self.refused(ValueError, "multi_head_attention: context [1, 3, 4] for x [2, 3, 4], expected [2, S, 4]",
                     lambda: layer(x, context=x[:1]))
        block = sg.layer("encoder_decoder_block", mixer={"type": "local_rnn", "d_model": D, "window": 2}, d_inner=5, n_head=2)
        self.refused(ValueError, "encoder_decoder_block: no context, expected [B, S, 4]", lambda: block(x))
        for run in (lambda: block(x, context=x[0]), lambda: block.step(x, context=x[0])):
            self.refused(ValueError, "encoder_decoder_block: context [3, 4], expected [B, S, 4]", run)

    def test_configs(self):
        for name, shown in ((3, "3"), (None, "None"), ([], "[]"), (b"aft", "b'aft'")):
            self.refused(TypeError, f"layer: name is {shown}, expected the name of a layer", lambda: sg.layer(name))
        make = lambda d_model: sg.layer("multi_head_attention", d_model=d_model, n_head=2)
        for value, shown in ((x, "Tensor [2, 3, 4]"), (np.zeros(2), "ndarray [2]"), (torch.float32, "torch.float32"), (1j, "1j"),
                             ({4}, "{4}"), ([x], f"[{' '.join(repr(x).split())}"[:80] + "…")):
            self.refused(TypeError, f'multi_head_attention: config key "d_model" is {shown}, expected a str, a number, a bool '
                         "or a dict", lambda: make(value))
        for value, shown in ((True, "true"), ("4", '"4"'), (None, "null"), (2.5, "2.5")):
            self.refused(ValueError, f'multi_head_attention: config key "d_model" is {shown}, expected a whole number',
                         lambda: make(value))
        for config in (None, "x", [("form", "simple")]):
            self.refused(TypeError, f"aft: config is {config!r}, expected a dict", lambda: sg.Layer("aft", config))
        self.refused(TypeError, "transformer_block: a config key is 1, expected a str",
                     lambda: sg.layer("transformer_block", mixer={1: 2}, d_inner=3))
        self.refused(TypeError, "Layer: parameters is 5, expected a list of pairs of a name and a torch.Tensor",
                     lambda: sg.Layer("rel_shift", {}, 5))

    def test_models(self):
        model = sg.layer("language_model", vocab_size=3, d_model=4, n_layer=1, n_head=2, d_inner=3,
                         mixer={"type": "relative_global_attention", "max_seq": 8})
        model.vocabulary = sg.Vocabulary("Characters", "bytes", [97, 98, 99])
        call = lambda **given: model(**{"tokens": tokens} | given)
        self.wrong("language_model", "tokens", call, no_tensors, "a torch.Tensor")
        self.wrong("language_model", "memory", call, no_tensors, "a torch.Tensor")
        self.wrong("language_model", "mem_len", call, whole_numbers, "a whole number")
        for name in ("return_hidden", "need_weights"):
            self.wrong("language_model", name, call, flags, "True or False")
        write = lambda **given: model.generate(**{"prompt": "ab", "length": 2} | given)
        for name in ("temperature", "top_p", "min_p", "repetition_penalty"):
            self.wrong("generate", name, write, numbers, "a number")
        for name in ("length", "top_k", "repetition_window", "seed", "mem_len"):
            self.wrong("generate", name, write, (*whole_numbers, ([1], "[1]")), "a whole number")
        self.wrong("generate", "prompt", write, ((None, "None"), (3, "3"), ([0], "[0]")), "a str, bytes or a torch.Tensor")
        self.refused(ValueError, "generate: prompt [1, 3], expected [T]", lambda: write(prompt=tokens))
        self.wrong("generate", "stop", write, ((3, "3"), ([0], "[0]")), "a str or bytes, as the prompt is, or a list of several")
        self.wrong("generate", "stop", lambda stop: write(prompt=tokens[0], stop=stop), ((3, "3"), ("a", "'a'")),
                   "tokens, as the prompt is, or a list of several")
        self.wrong("generate", "stop", lambda stop: write(prompt=tokens[0], stop=[stop]), whole_numbers, "a whole number")
        self.wrong("save", "path", model.save, ((None, "None"), (3, "3"), (x, "Tensor [2, 3, 4]")), "a path")
        model.vocabulary = "abc"
        self.refused(TypeError, "language_model: vocabulary is 'abc', expected a Vocabulary", lambda: model.save("unwritten"))

    def test_translators(self):
        mixers = {f"{side}_mixer": {"type": "multi_head_attention"} for side in ("encoder", "decoder")}
        model = sg.layer("encoder_decoder", source_vocab_size=5, target_vocab_size=5, d_model=4, n_encoder_layer=1,
                         n_decoder_layer=1, n_head=2, d_inner=3, **mixers)
        call = lambda **given: model(**{"source": tokens, "target": tokens} | given)
        for name in ("source", "target", "key_padding_mask"):
            self.wrong("encoder_decoder", name, call, no_tensors, "a torch.Tensor")
        self.wrong("encoder_decoder", "key_padding_mask", lambda **given: model.start(tokens, **given), no_tensors,
                   "a torch.Tensor")
        self.refused(TypeError, "encoder_decoder: the state is NoneType, expected what start() of this module gave",
                     lambda: model.step(tokens, None))
        write = lambda **given: model.generate(**{"source": tokens} | given)
        for name in ("temperature", "top_p", "length_penalty"):
            self.wrong("generate", name, write, numbers, "a number")
        for name in ("beam", "top_k", "seed", "max_length"):
            self.wrong("generate", name, write, (*whole_numbers, ([1], "[1]")), "a whole number")
        self.wrong("generate", "source", write, ((None, "None"), (("a",), "('a',)")),
                   "a str, bytes, a list of these or a torch.Tensor")
        self.refused(TypeError, "generate: a source is 3, expected a str or bytes", lambda: write(source=["a", 3]))
        self.refused(ValueError, "generate: source [3], expected [B, S]", lambda: write(source=tokens[0]))

    def test_vocabularies_and_paths(self):
        vocabulary = sg.Vocabulary("Characters", "bytes", [97, 98])
        for error, line, run in (
            (ValueError, 'Vocabulary: kind is \'x\', expected "Characters" or "Symbols"', lambda: sg.Vocabulary("x", "bytes", [])),
            (ValueError, "Vocabulary: unit is 'x', expected bytes, all_bytes or characters",
             lambda: sg.Vocabulary("Characters", "x", [])),
            (TypeError, "Vocabulary: behind Characters stand ('bytes', None), expected unit and codes",
             lambda: sg.Vocabulary("Characters", "bytes", None)),
            (TypeError, "Vocabulary: behind Symbols stand ('words', ['a']), expected unit, texts and longest",
             lambda: sg.Vocabulary("Symbols", "words", ["a"])),
            (TypeError, "Vocabulary: longest is True, expected a whole number",
             lambda: sg.Vocabulary("Symbols", "words", ["a"], True)),
            (TypeError, "encode: text is NoneType, expected str or bytes", lambda: vocabulary.encode(None)),
            (TypeError, "decode: tokens is '12', expected a tensor [T] or a list", lambda: vocabulary.decode("12")),
            (TypeError, "decode: a token is 1.5, expected a whole number", lambda: vocabulary.decode(torch.tensor([1.5]))),
            (TypeError, "decode: a token is [0, 0, 0], expected a whole number", lambda: vocabulary.decode(tokens)),
            (ValueError, f"decode: a token is {2**70}, expected 0 to {2**63 - 1}", lambda: vocabulary.decode([2**70])),
            (TypeError, "load: run is None, expected a path", lambda: sg.load(None)),
            (ValueError, "load: run is '', expected a path of one character or more, none of them NUL", lambda: sg.load("")),
            (ValueError, "load: run is 'a\\x00b', expected a path of one character or more, none of them NUL",
             lambda: sg.load("a\0b")),
            (TypeError, "accelerate: model is type, expected a torch.nn.Module", lambda: sg.accelerate(torch.nn.Linear)),
            (TypeError, "restore: model is NoneType, expected a torch.nn.Module", lambda: sg.restore(None)),
        ):
            self.refused(error, line, run)
        for precision, shown in ((None, "None"), (torch.bfloat16, "torch.bfloat16"), (np.zeros(2), "ndarray [2]")):
            self.refused(ValueError, f'set_precision: precision is {shown}, expected "float32" or "bfloat16"',
                         lambda: sg.set_precision(precision))


if __name__ == "__main__":
    unittest.main()
