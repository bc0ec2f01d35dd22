"""What layers say: their printed configs, and errors that list what there is."""

import unittest

import torch

import shiftgrad.torch as sg


class Printed(unittest.TestCase):
    def test_a_layer_shows_all_of_its_config(self):
        layer = sg.layer("multi_head_attention", d_model=8, n_head=2, bias=False)
        self.assertEqual(
            layer.extra_repr(),
            "'multi_head_attention', d_model=8, n_head=2, bias=False, causal=True, window=None, chunk=None, position='none', "
            "attention_dropout=0.0")
        self.assertIn(layer.extra_repr(), str(torch.nn.Sequential(layer)))
        # Defaults that files leave out are shown as well.
        xl = sg.layer("transformer_xl_attention", d_model=8, n_head=2, attention_dropout=0.5)
        for part in ("content_bias=True", "clamp_len=None", "attention_dropout=0.5"):
            self.assertIn(part, xl.extra_repr())
        block = sg.layer("transformer_block", mixer={"type": "local_rnn", "d_model": 4, "window": 2}, d_inner=3)
        for part in ("{'type': 'local_rnn', 'd_model': 4, 'window': 2, 'cell': 'rnn'}", "norm_first=True", "dropout=0.0"):
            self.assertIn(part, block.extra_repr())
        self.assertNotIn("attention_dropout", block.extra_repr())
        self.assertEqual(sg.layer("rel_shift").extra_repr(), "'rel_shift', zero_triu=False")
        self.assertEqual(sg.layer("shift_right").extra_repr(), "'shift_right'")

    def test_a_model_shows_its_config(self):
        model = sg.layer("language_model", vocab_size=5, d_model=4, n_layer=1, n_head=2, d_inner=3, dropout=0.1,
                         mixer={"type": "relative_global_attention", "max_seq": 2})
        for part in ("vocab_size=5", "layer_positions=False", "max_len=None", "dropout=0.1", "attention_dropout=0.0",
                     "mixer={'type': 'relative_global_attention', 'max_seq': 2,"):
            self.assertIn(part, model.extra_repr())
        translator = sg.layer(
            "encoder_decoder", source_vocab_size=5, target_vocab_size=6, d_model=4, n_encoder_layer=1,
            n_decoder_layer=1, n_head=2, d_inner=3, encoder_mixer={"type": "aft", "form": "simple"},
            decoder_mixer={"type": "local_rnn", "window": 2})
        self.assertIn("decoder_mixer={'type': 'local_rnn', 'window': 2, 'cell': 'rnn'}", translator.extra_repr())


class Names(unittest.TestCase):
    def refusal(self, name, **config):
        with self.assertRaises(ValueError) as refused:
            sg.layer(name, **config)
        self.assertNotIn("\n", str(refused.exception))
        return str(refused.exception)

    def test_an_unknown_layer_lists_all_names(self):
        line = self.refusal("global")
        self.assertTrue(line.startswith('unknown layer "global", expected relative_global_attention, '), line)
        for name in ("multi_head_attention", "relative_multi_head_attention",
                     "transformer_xl_attention", "aft", "local_rnn", "transformer_block", "r_transformer_block",
                     "encoder_decoder_block", "language_model", "encoder_decoder", "rel_shift", "shift_right"):
            self.assertIn(name, line)
        self.assertTrue(self.refusal("relative_global_atention").endswith(", did you mean relative_global_attention?"))
        self.assertIn("expected multi_head_attention, ", self.refusal(""))

    def test_an_unknown_key_or_mixer_lists_all(self):
        self.assertEqual(self.refusal("local_rnn", d_modl=3),
                         'local_rnn: unknown config key "d_modl", expected cell, d_model, window')
        line = self.refusal("transformer_block", mixer={"type": "global"}, d_inner=3)
        self.assertTrue(line.startswith('unknown mixer type "global", expected multi_head_attention, '), line)
        self.assertIn("relative_global_attention", line)


if __name__ == "__main__":
    unittest.main()
