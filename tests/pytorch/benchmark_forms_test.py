"""The forms of a variant that the benchmark runs in PyTorch compute what the library does, with its gradients."""

import sys
import unittest
from pathlib import Path

import torch

import shiftgrad.torch as sg

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import fast_forms  # noqa: E402
import pytorch_cases as cases  # noqa: E402
import pytorch_models as models  # noqa: E402

LENGTH, WIDTH, HEADS = 96, 32, 4
cases.WIDTH = WIDTH  # the same with less work
fast_forms.BLOCK = 40  # a last block that is shorter
AFT = {"max_len": LENGTH, "factor_rank": 0}
OURS = {
    "attention": ("multi_head_attention", {}),
    "labml": ("relative_multi_head_attention", {"max_positions": LENGTH}),
    "music": ("relative_global_attention", {"max_seq": LENGTH}),
    "shaw k16": ("shaw_attention", {"max_distance": 16}),
    "aft full": ("aft", {"form": "full", **AFT}),
    "aft full r64": ("aft", {"form": "full", **AFT, "factor_rank": 64}),
    "aft local s32": ("aft", {"form": "local", **AFT, "window": 32}),
    "aft local s32 r64": ("aft", {"form": "local", **AFT, "window": 32, "factor_rank": 64}),
    "aft simple": ("aft", {"form": "simple"}),
    "aft conv s11": ("aft", {"form": "conv", "window": 11, "n_head": HEADS}),
    **{f"local_rnn s7 {cell}": ("local_rnn", {"window": 7, "cell": cell}) for cell in ("rnn", "gru", "lstm")},
}
# What PyTorch's own modules call our parameters.
NAMES = {"attention.in_proj_": "qkv.", "attention.out_proj.": "output.", "net.": "", "_l0": ""}


def our_name(name):
    for theirs, ours in NAMES.items():
        name = name.replace(theirs, ours)
    return name


def random_parameters(module):
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.3)
    return module


class Forms(unittest.TestCase):
    def same(self, theirs, ours):
        torch.testing.assert_close(theirs, ours, rtol=1e-10, atol=1e-10)

    def check(self, form, ours, inputs, in_our_layout=lambda y: y, **past):
        """A form with the parameters of our layer has its outputs and gradients."""
        names = {our_name(name): name for name, _ in form.named_parameters()}
        self.assertEqual(set(names), set(dict(ours.named_parameters())))
        with torch.no_grad():
            for name, parameter in ours.named_parameters():
                form.get_parameter(names[name]).copy_(parameter)
        x = inputs[0].detach().requires_grad_()
        of_ours = in_our_layout(x).detach().requires_grad_()
        y, expected = in_our_layout(form(x, *inputs[1:])), ours(of_ours, **past)
        self.same(y, expected)
        factor = torch.randn_like(y)
        y.backward(factor)
        expected.backward(factor)
        self.same(in_our_layout(x.grad), of_ours.grad)
        for name, parameter in ours.named_parameters():
            self.same(form.get_parameter(names[name]).grad, parameter.grad)
            parameter.grad = None

    def test_layers(self):
        self.assertEqual(set(OURS), set(cases.LAYERS))
        x = torch.randn(2, LENGTH, WIDTH, dtype=torch.double)
        for case, (layer, config) in OURS.items():
            config = {"n_head": HEADS, **config} if "attention" in layer else config
            ours = random_parameters(sg.layer(layer, d_model=WIDTH, **config).double())
            for name, make in cases.LAYERS[case].items():
                with self.subTest(case, form=name):
                    self.check(make(LENGTH).double(), ours, [x])

    def test_transformer_xl(self):
        keys = LENGTH + 7
        ours = random_parameters(sg.layer("transformer_xl_attention", d_model=WIDTH, n_head=HEADS).double())
        x, memory = (torch.randn(2, length, WIDTH, dtype=torch.double) for length in (LENGTH, 7))
        angle = torch.arange(keys - 1, -1, -1)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2).double() / WIDTH)
        sinusoids, mask = torch.cat([angle.sin(), angle.cos()], 1), models.causal_mask(LENGTH, keys)
        for name, make in cases.TRANSFORMER_XL.items():
            with self.subTest(name):
                layout = (lambda y: y) if make.batch_first else (lambda y: y.transpose(0, 1))
                self.check(make(WIDTH, HEADS).double(), ours, [layout(x), layout(memory), sinusoids, mask], layout,
                           memory=memory)

    def test_transformer_xl_models(self):
        """Whole models go on from their memories."""
        published, *others = (random_parameters(models.TransformerXL(make, 11, WIDTH, 2, HEADS, 30).double())
                              for make in cases.TRANSFORMER_XL.values())
        tokens = torch.randint(11, (3, 2, 24))
        for model in others:
            memory, expected_memory = ([torch.zeros(shape, dtype=torch.double)] * 2
                                       for shape in ((2, 30, WIDTH), (30, 2, WIDTH)))
            for segment in tokens:
                logits, memory = model(segment, memory)
                expected, expected_memory = published(segment, expected_memory)
                self.same(logits, expected)
            self.same(memory[1], expected_memory[1].transpose(0, 1))

    def test_encoder_decoder(self):
        published = random_parameters(models.EncoderDecoder(cases.VOCABULARY, WIDTH, 2, HEADS).double())
        fast = fast_forms.EncoderDecoder(cases.VOCABULARY, WIDTH, 2, HEADS).double()
        fast.load_state_dict(published.state_dict())
        source, target = torch.randint(cases.VOCABULARY, (3, 7)), torch.randint(cases.VOCABULARY, (3, 9))
        results = []
        for model in (fast, published):
            model(source, target).square().sum().backward()
            results.append([model(source, target), *(parameter.grad for parameter in model.parameters())])
        self.same(*results)
        way = cases.Way(compiled=False, bfloat16=False)
        found, expected = (search(way, model.eval(), source, 4, 12)() for model, (_, search) in
                           zip((fast, published), reversed(cases.DECODINGS.values())))
        self.assertTrue(torch.equal(found, expected))
        self.assertGreater(len(found.unique(dim=0)), 6)


if __name__ == "__main__":
    unittest.main()
