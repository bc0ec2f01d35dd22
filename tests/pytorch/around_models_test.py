"""Accelerated models of transformers inside of what is built around them: larger models, LoRA, training loops."""

import copy
import importlib.util
import tempfile
import unittest
from pathlib import Path

import torch
from fresh_models import *  # which lacks what transformers lacks
from torch import distributed, nn

import shiftgrad.torch as sg


def tokens(*shape):
    return torch.randint(1, 29, shape)


@unittest.skipIf(missing, f"{missing}")
class Around(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.text, self.target = tokens(B, T), tokens(B, T - 2)

    def test_composite_models(self):
        """Models of several models, each with attentions of its own, and a model inside of a module of one's own."""
        t5_config = t5_model().config
        music = transformers.MusicgenForConditionalGeneration(
            text_encoder=transformers.T5EncoderModel(t5_config),
            audio_encoder=transformers.EncodecModel(transformers.EncodecConfig(
                num_filters=2, hidden_size=8, codebook_dim=8, upsampling_ratios=[2, 2], target_bandwidths=[1.5], sampling_rate=100)),
            decoder=transformers.MusicgenForCausalLM(transformers.MusicgenDecoderConfig(
                vocab_size=30, hidden_size=C, num_hidden_layers=1, num_attention_heads=H, ffn_dim=8, num_codebooks=1)))
        speech = transformers.SpeechEncoderDecoderModel(
            encoder=conformer_encoder_model(), decoder=transformers.BertLMHeadModel(transformers.BertConfig(
                vocab_size=30, hidden_size=C, num_hidden_layers=1, num_attention_heads=H, intermediate_size=8, is_decoder=True,
                add_cross_attention=True)))
        for model, run in (
            (music, lambda model: model(input_ids=self.text, decoder_input_ids=self.target).logits),
            (speech, lambda model: model(input_values=randn(1, 400), decoder_input_ids=self.target[:1]).logits),
            (nn.ModuleDict({"one": deberta_model(), "two": t5_model()}),
             lambda model: model["two"](inputs_embeds=model["one"](self.text)[0], decoder_input_ids=self.target).logits),
        ):
            model = randomize(model)
            with self.subTest(type(model).__name__), in_double(), torch.no_grad():
                torch.manual_seed(2)
                expected = run(model)
                replaced = sg.accelerate(model)
                self.assertGreaterEqual(len(replaced), L)
                torch.manual_seed(2)
                with counted() as kernel:
                    torch.testing.assert_close(run(model), expected, rtol=0, atol=1e-8)
                self.assertEqual(kernel.call_count, len(replaced))
                self.assertEqual(sg.restore(model), replaced)

    def test_the_encoder_alone(self):
        """Its attentions alone are replaced; a generation's steps stay the model's own."""
        model = t5_model()
        expected = model.generate(self.text, max_new_tokens=5, min_new_tokens=5)
        self.assertEqual(len(sg.accelerate(model.encoder)), L)
        with in_double(), counted() as kernel:
            self.assertTrue(torch.equal(model.generate(self.text, max_new_tokens=5, min_new_tokens=5), expected))
        self.assertEqual(kernel.call_count, L)

    def train(self, model, steps=3):
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.05), []
        for _ in range(steps):
            loss = model(input_ids=self.text, labels=self.target).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    def test_data_parallel(self):
        """DDP, in one process: each parameter's gradient is there once."""
        theirs = t5_model().float()
        ours = copy.deepcopy(theirs)
        sg.accelerate(ours)
        expected = self.train(theirs)
        with tempfile.TemporaryDirectory() as folder:
            distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=0, world_size=1)
            try:
                with counted() as kernel:
                    got = self.train(nn.parallel.DistributedDataParallel(ours))
            finally:
                distributed.destroy_process_group()
        self.assertEqual(kernel.call_count, 3 * 3 * L)
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)

    @unittest.skipIf(importlib.util.find_spec("accelerate") is None, "Python has no accelerate, which Trainer needs")
    def test_trainer(self):
        """Trainer trains, saves and loads it, as it does the model itself."""
        losses, rows = [], [{"input_ids": self.text[n % B], "labels": self.target[n % B]} for n in range(6)]
        theirs = t5_model().float()
        for accelerates in (False, True):
            model = copy.deepcopy(theirs)
            if accelerates:
                self.assertEqual(len(sg.accelerate(model)), 3 * L)
            with tempfile.TemporaryDirectory() as folder:
                arguments = transformers.TrainingArguments(
                    folder, max_steps=3, per_device_train_batch_size=2, learning_rate=1e-2, report_to=[], save_steps=3,
                    use_cpu=True, disable_tqdm=True, logging_steps=1, seed=3)
                trainer = transformers.Trainer(model, arguments, train_dataset=rows)
                with counted() as kernel:
                    trainer.train()
                losses.append([each["loss"] for each in trainer.state.log_history if "loss" in each])
                saved = transformers.T5ForConditionalGeneration.from_pretrained(Path(folder, "checkpoint-3"))
            self.assertEqual(kernel.call_count > 0, accelerates)
            for name, value in model.state_dict().items():
                self.assertTrue(torch.equal(saved.state_dict()[name], value))
        torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-3)

    @unittest.skipIf(importlib.util.find_spec("peft") is None, "Python has no peft")
    def test_lora(self):
        import peft
        losses = []
        for accelerates in (False, True):
            torch.manual_seed(4)
            model = peft.get_peft_model(t5_model().float(), peft.LoraConfig(target_modules=["q", "v"], r=2))
            if accelerates:
                self.assertEqual(len(sg.accelerate(model)), 3 * L)
            losses.append(self.train(model))
        self.assertNotEqual(losses[0][0], losses[0][-1])
        torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-4)


def conformer_encoder_model():
    return transformers.Wav2Vec2ConformerModel(transformers.Wav2Vec2ConformerConfig(
        hidden_size=C, num_hidden_layers=L, num_attention_heads=H, intermediate_size=8, conv_dim=[8], conv_stride=[10],
        conv_kernel=[10], num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, position_embeddings_type="relative",
        apply_spec_augment=False))


if __name__ == "__main__":
    unittest.main()
