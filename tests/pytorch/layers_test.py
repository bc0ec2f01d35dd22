"""Every layer through PyTorch: its bits are run_layer's, its gradients are right, and it streams."""

import json
import os
import re
import subprocess
import tempfile
import unittest

import torch
from layers import forms, inputs, label, randomized, takes_masks, takes_memory
from safetensors.torch import load_file, save_file

import shiftgrad.torch as sg

run_layer = {torch.float32: os.environ.get("RUN_LAYER"), torch.float64: os.environ.get("RUN_LAYER_F64")}


def by_run_layer(name, config, layer, given, cotangent):
    case = {f"param.{key}": value.detach() for key, value in layer.state_dict().items()}
    case |= {f"input.{key}": value.detach() for key, value in given.items()} | {"grad_output": cotangent}
    with tempfile.TemporaryDirectory() as folder:
        case_path, out_path = f"{folder}/case", f"{folder}/out"
        save_file(case, case_path, {"layer": name, "config": json.dumps(config)})
        subprocess.run([run_layer[cotangent.dtype], case_path, out_path], check=True)
        return load_file(out_path)


class Layers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_every_layer_has_a_form(self):
        with self.assertRaises(ValueError) as refused:
            sg.layer("")
        known = set(re.findall("[a-z_]+", str(refused.exception).split("expected ")[1])) - {"or"}
        others = {"language_model", "encoder_decoder", "rel_shift", "shift_right"}
        self.assertEqual({name for name, _, _ in forms()}, known - others)

    def test_bits_are_those_of_run_layer(self):
        for dtype in run_layer:
            for number, (name, config, width) in enumerate(forms()):
                with self.subTest(label(name, config), dtype=dtype):
                    layer = randomized(name, config, dtype)
                    given = inputs(name, config, width, dtype, M=3 * (number % 2), masks=number % 3 == 0)
                    self.compare(name, config, layer, given)
        cross = randomized("multi_head_attention", {"d_model": 6, "n_head": 2}, torch.float32)
        given = {"x": torch.randn(2, 4, 6), "context": torch.randn(2, 5, 6)}
        self.compare("multi_head_attention", {"d_model": 6, "n_head": 2}, cross, given)
        for name, config in (("rel_shift", {}), ("rel_shift", {"zero_triu": True}), ("shift_right", {})):
            self.compare(name, config, sg.layer(name, **config), {"x": torch.randn(2, 3, 4, 6)})

    def compare(self, name, config, layer, given):
        for key in given.keys() & {"x", "context"}:
            given[key].requires_grad_()
        y = layer(**given)
        cotangent = torch.randn_like(y)
        y.backward(cotangent)
        got = {"output": y.detach()}
        got |= {f"grad.param.{key}": value.grad for key, value in layer.named_parameters()}
        got |= {f"grad.input.{key}": given[key].grad for key in given.keys() & {"x", "context"}}
        expected = by_run_layer(name, config, layer, given, cotangent)
        self.assertEqual(got.keys(), expected.keys())
        for key, value in expected.items():
            self.assertTrue(torch.equal(got[key], value), key)

    def test_gradients_are_difference_quotients(self):
        for name, config, width in forms():
            with self.subTest(label(name, config)):
                layer = randomized(name, config, torch.float64)
                given = inputs(name, config, width, torch.float64, T=3, M=2, masks=True)
                parameters = dict(layer.named_parameters())
                wanted = {key: given[key].requires_grad_() for key in given.keys() & {"x", "context"}}

                def run(*values):
                    some = dict(zip([*wanted, *parameters], values))
                    arguments = given | {key: some.pop(key) for key in wanted}
                    return torch.func.functional_call(layer, some, (), arguments)

                torch.autograd.gradcheck(run, (*wanted.values(), *parameters.values()), fast_mode=True)

    def test_pieces_give_what_one_pass_gives(self):
        for name, config, width in forms():
            causal = not config.get("bidirectional", not config.get("causal", True))
            if not causal:
                continue
            with self.subTest(label(name, config)):
                layer = randomized(name, config, torch.float64)
                given = inputs(name, config, width, torch.float64, T=7, M=0)
                x, more = given.pop("x"), given
                whole, state, pieces = layer(x, **more), None, []
                for piece in x.split([3, 1, 1, 2], 1):
                    y, state = layer.step(piece, state, **more)
                    self.assertFalse(y.requires_grad)
                    pieces.append(y)
                torch.testing.assert_close(torch.cat(pieces, 1), whole.detach(), rtol=1e-10, atol=1e-10)

    def test_names_and_shapes_go_both_ways(self):
        layer = sg.layer("transformer_block", d_inner=5, mixer={
            "type": "relative_global_attention", "d_model": 6, "n_head": 2, "max_seq": 7})
        self.assertEqual({key: list(value.shape) for key, value in layer.state_dict().items()}, {
            "mixer.qkv.weight": [18, 6], "mixer.qkv.bias": [18], "mixer.output.weight": [6, 6],
            "mixer.output.bias": [6], "mixer.past_embeddings": [2, 7, 3], "mixer.past_bias": [2, 7],
            "mixer_norm.weight": [6], "mixer_norm.bias": [6],
            "feed_forward.up.weight": [5, 6], "feed_forward.up.bias": [5],
            "feed_forward.down.weight": [6, 5], "feed_forward.down.bias": [6],
            "feed_forward_norm.weight": [6], "feed_forward_norm.bias": [6]})
        other = sg.layer("transformer_block", **layer.config)
        x = torch.randn(1, 4, 6)
        self.assertFalse(torch.equal(other(x), layer(x)))
        other.load_state_dict(layer.state_dict())
        self.assertTrue(torch.equal(other(x), layer(x)))

    def test_parameters_start_from_the_seed_of_torch(self):
        torch.manual_seed(7)
        first = sg.layer("local_rnn", d_model=3, window=2)
        torch.manual_seed(7)
        again, other = (sg.layer("local_rnn", d_model=3, window=2) for _ in range(2))
        self.assertTrue(torch.equal(first.weight_ih, again.weight_ih))
        self.assertFalse(torch.equal(first.weight_ih, other.weight_ih))

    def test_hidden_tokens_do_not_count(self):
        for name, config, width in forms():
            if not takes_masks(name, config):
                continue
            with self.subTest(label(name, config)):
                layer = randomized(name, config, torch.float32)
                given = inputs(name, config, width, torch.float32, M=0)
                hidden = torch.tensor([[True, False, False, False], [False] * 4])
                y = layer(**given, key_padding_mask=hidden)
                given["x"] = given["x"].clone()
                given["x"][0, 0] = 1e3
                again = layer(**given, key_padding_mask=hidden)
                self.assertTrue(torch.equal(y[0, 1:], again[0, 1:]))
                everything = torch.ones(4, 4, dtype=torch.bool)
                self.assertTrue(torch.isfinite(layer(**given, attention_mask=everything)).all())

    def test_memory_gets_no_gradient(self):
        for name, config, width in forms():
            if takes_memory(name):
                layer = randomized(name, config, torch.float32)
                given = inputs(name, config, width, torch.float32)
                given["memory"].requires_grad_()
                layer(**given).sum().backward()
                self.assertIsNone(given["memory"].grad, label(name, config))


if __name__ == "__main__":
    unittest.main()
