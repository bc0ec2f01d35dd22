"""The forms of a variant that the benchmark runs in PyTorch compute the same, and so do their gradients."""

import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import pytorch_cases as cases  # noqa: E402
import pytorch_models as models  # noqa: E402

LENGTH = 20
cases.WIDTH = 32  # the same with less work


def results(layer, inputs, cotangent):
    y = layer(*inputs)
    return [y, *torch.autograd.grad((y * cotangent).sum(), [*layer.parameters(), inputs[0]])]


class Forms(unittest.TestCase):
    def check(self, forms, *inputs):
        """All of these layers, made to have the same parameters, are the first one."""
        torch.manual_seed(1)
        layers = [form.double() for form in forms]
        inputs[0].requires_grad_()
        with torch.no_grad():
            for parameter in layers[0].parameters():
                parameter.normal_(std=0.3)
        cotangent = torch.randn(inputs[0].shape, dtype=torch.double)
        expected = results(layers[0], inputs, cotangent)
        for layer in layers[1:]:
            layer.load_state_dict(layers[0].state_dict())
            for ours, theirs in zip(results(layer, inputs, cotangent), expected, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)

    def test_layers(self):
        compared = 0
        for name, forms in cases.LAYERS.items():
            if name == "attention":
                continue  # two modules of PyTorch's own, whose parameters have other names
            with self.subTest(name):
                self.check([make(LENGTH) for make in forms.values()],
                           torch.randn(2, LENGTH, cases.WIDTH, dtype=torch.double))
                compared += len(forms) > 1
        self.assertEqual(compared, 6)

    def test_transformer_xl(self):
        keys, width = LENGTH + 7, 16
        self.check([make(width, 4) for make in cases.TRANSFORMER_XL.values()],
                   torch.randn(LENGTH, 2, width, dtype=torch.double), torch.randn(7, 2, width, dtype=torch.double),
                   torch.randn(keys, width, dtype=torch.double), models.causal_mask(LENGTH, keys))

    def test_attention(self):
        torch.manual_seed(1)
        module, fused = (make(LENGTH).double() for make in cases.LAYERS["attention"].values())
        inner = module.attention
        with torch.no_grad():
            fused.qkv.weight.copy_(inner.in_proj_weight), fused.qkv.bias.copy_(inner.in_proj_bias)
        fused.output.load_state_dict(inner.out_proj.state_dict())
        x = torch.randn(2, LENGTH, cases.WIDTH, dtype=torch.double)
        torch.testing.assert_close(fused(x), module(x), rtol=0, atol=1e-11)


if __name__ == "__main__":
    unittest.main()
