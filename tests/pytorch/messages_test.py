"""What layers say: their printed configs, and errors that list what there is."""

import unittest

import torch

import shiftgrad.torch as sg


class Printed(unittest.TestCase):
    def test_a_layer_shows_all_of_its_config(self):
        layer = sg.layer("multi_head_attention", d_model=8, n_head=2, bias=False)
        self.assertEqual(
            layer.extra_repr(),
            "'multi_head_attention', d_model=8, n_head=2, bias=False, causal=True, window=None, chunk=None, "
            "always=None, position='none', attention_dropout=0.0")
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
        self.assertIn(", did you mean relative_global_attention, alone or as the mixer of a transformer_block, ",
                      self.refusal("relative_global_atention"))
        self.assertIn("expected multi_head_attention, ", self.refusal(""))

    def test_an_unknown_key_or_mixer_lists_all(self):
        self.assertEqual(self.refusal("local_rnn", colour=3),
                         'local_rnn: unknown config key "colour", expected cell, d_model, window')
        line = self.refusal("transformer_block", mixer={"type": "global"}, d_inner=3)
        self.assertTrue(line.startswith('unknown mixer type "global", expected multi_head_attention, '), line)
        self.assertIn("relative_global_attention", line)

    def test_names_of_others_lead_here(self):
        """The one that is meant is named, of layers, of mixers and of keys."""
        xl = {"type": "transformer_xl", "d_model": 4, "n_head": 2}
        for meant, refusal in (
            ("transformer_xl_attention", self.refusal("transformer_xl", d_model=4, n_head=2)),
            ("transformer_xl_attention", self.refusal("transformer_block", mixer=xl, d_inner=3)),
            ("relative_global_attention", self.refusal("music_transformer")),
            ("relative_global_attention", self.refusal("global")),
            ("local_rnn", self.refusal("local")),
            ("n_head", self.refusal("multi_head_attention", d_model=4, n_heads=2)),
            ("n_head", self.refusal("multi_head_attention", d_model=4, num_heads=2)),
            ("d_model", self.refusal("local_rnn", d_modl=3, window=2)),
            ("n_head", self.refusal("transformer_block", d_inner=3, mixer={
                "type": "multi_head_attention", "d_model": 4, "n_heads": 2})),
        ):
            self.assertRegex(refusal, f", did you mean {meant}(, alone or as the mixer of a .*language_model)?[?]$")
            self.assertEqual("unknown layer" in refusal, "alone or as" in refusal)
        self.assertTrue(self.refusal("r_transformer").endswith(
            ", did you mean r_transformer_block, of a local_rnn and a multi_head_attention, alone or as the block of a "
            "language_model?"))
        self.assertNotIn("did you mean", self.refusal("local_rnn", colour=3))
        self.assertNotIn("did you mean", self.refusal("nothing of the kind"))

    def test_numbers_are_whole(self):
        layer = sg.layer("multi_head_attention", d_model=4, n_head=2)
        model = sg.layer("language_model", vocab_size=5, d_model=4, n_layer=1, n_head=2, d_inner=3,
                         mixer={"type": "relative_global_attention", "max_seq": 2})
        tokens = torch.zeros(1, 2, dtype=torch.long)
        for error, line, run in (
            (TypeError, "layer: name is 3, expected the name of a layer", lambda: sg.layer(3)),
            (TypeError, "multi_head_attention: limit is 2.5, expected a whole number", lambda: layer.start(2.5)),
            (ValueError, "multi_head_attention: limit is -1, expected 0 to 9223372036854775807", lambda: layer.start(-1)),
            (ValueError, f"multi_head_attention: limit is {2**70}, expected 0 to 9223372036854775807",
             lambda: layer.start(2**70)),
            (TypeError, "language_model: mem_len is 2.5, expected a whole number", lambda: model(tokens, mem_len=2.5)),
            (ValueError, "language_model: mem_len is -1, expected 0 to 9223372036854775807",
             lambda: model(tokens, mem_len=-1)),
        ):
            with self.subTest(line), self.assertRaises(error) as refused:
                run()
            self.assertEqual(str(refused.exception), line)


if __name__ == "__main__":
    unittest.main()
