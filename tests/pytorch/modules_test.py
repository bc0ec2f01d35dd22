"""The parts of layers and models, as other code of PyTorch meets them: printed, called, hooked, replaced, adapted."""

import copy
import importlib.util
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import torch
from layers import forms, inputs, label, randomized
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.utils import parametrize, prune

import shiftgrad.torch as sg

mixers = {"multi_head_attention": {}, "transformer_xl_attention": {}, "aft": {"form": "simple"}}


def model(mixer="multi_head_attention", **more):
    config = {"vocab_size": 7, "d_model": 4, "n_layer": 2, "n_head": 2, "d_inner": 6} | more
    return sg.layer("language_model", mixer={"type": mixer} | mixers[mixer], **config)


class Parts(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.model, self.tokens = model(), torch.randint(7, (2, 5))

    def refused(self, kind, start, call):
        with self.subTest(start), self.assertRaises(kind) as refusal:
            call()
        line = str(refusal.exception)
        self.assertTrue(line.startswith(start), line)
        self.assertNotIn("\n", line)
        self.assertIn("work", line.removeprefix(start))  # it says what does

    def test_what_is_printed(self):
        """Each parameter's shape is there."""
        text = str(sg.layer("transformer_block", d_inner=16, mixer={
            "type": "transformer_xl_attention", "d_model": 8, "n_head": 2}))
        for line in ("(mixer): Group(\n    content_bias [2, 4], position_bias [2, 4]\n",
                     "(qkv): Linear(in_features=8, out_features=24, bias=False)\n",
                     "(mixer_norm): LayerNorm((8,), eps=1e-05, ", "(up): Linear(in_features=8, out_features=16, bias=True)"):
            self.assertIn(line, text)
        self.assertIn("\n  weight_ih [4, 4], weight_hh [4, 4], bias_ih [4], bias_hh [4]\n",
                      str(sg.layer("local_rnn", d_model=4, window=2)))
        self.assertIn("(embedding): Embedding(7, 4)\n", str(self.model))
        self.assertIn("(output): Group(bias [7])\n", str(model(tie_embedding=True)))

    def test_parts_compute_what_they_show(self):
        """With what the output layer reads, by the parts that are torch's, one gets the model's own logits."""
        self.assertTrue(torch.equal(self.model.embedding(self.tokens), self.model.embedding.weight[self.tokens]))
        logits, hidden = self.model(self.tokens, return_hidden=True)
        torch.testing.assert_close(self.model.output(hidden), logits)
        bare = model(n_layer=1, final_norm=False)
        bare.load_state_dict(self.model.state_dict(), strict=False)
        unnormed = bare(self.tokens, return_hidden=True)[1]
        one = model(n_layer=1)
        one.load_state_dict(bare.state_dict(), strict=False)
        torch.testing.assert_close(one.final_norm(unnormed), one(self.tokens, return_hidden=True)[1])
        self.assertEqual([type(block).__name__ for block in self.model.blocks], ["Group"] * 2)
        self.assertIs(self.model.blocks[-1].mixer, self.model.get_submodule("blocks.1.mixer"))
        self.assertEqual((len(self.model.blocks), list(self.model.blocks[1:])), (2, [self.model.blocks[1]]))

    def test_a_block_alone(self):
        """A part cannot be called, as its error says; a layer with its parameters can."""
        one = model("transformer_xl_attention", n_layer=1)
        block = sg.layer("transformer_block", mixer={"type": "transformer_xl_attention", "d_model": 4, "n_head": 2}, d_inner=6)
        block.load_state_dict(one.blocks[0].state_dict())
        torch.testing.assert_close(one.final_norm(block(one.embedding(self.tokens))),
                                   one(self.tokens, return_hidden=True)[1])
        self.refused(RuntimeError, "language_model: blocks.0 cannot be called alone; a block or a mixer that sg.layer",
                     lambda: self.model.blocks[0](torch.zeros(1, 2, 4)))

    def test_hooks_on_parts_are_refused(self):
        layer = sg.layer("multi_head_attention", d_model=4, n_head=2)
        calls, x = [], torch.randn(1, 3, 4)
        layer.register_forward_hook(lambda *_: calls.append("after"))
        layer.register_forward_pre_hook(lambda *_: calls.append("before"))
        layer.register_full_backward_hook(lambda *_: calls.append("back"))
        layer(x.requires_grad_()).sum().backward()
        self.assertEqual(calls, ["before", "after", "back"])
        for part in layer.output, self.model.blocks[0], self.model.blocks, self.model.final_norm:
            for name in ("forward_hook", "forward_pre_hook", "full_backward_hook", "full_backward_pre_hook"):
                self.refused(RuntimeError, f"{part._place} takes no hooks: ",
                             lambda: getattr(part, "register_" + name)(print))
        self.refused(RuntimeError, "language_model: blocks.0 takes no other forward: ",
                     lambda: setattr(self.model.blocks[0], "forward", print))
        self.refused(TypeError, "language_model: output has no weight_orig, so a new one would change nothing: ",
                     lambda: prune.l1_unstructured(self.model.output, "weight", 2))

    def test_a_part_has_no_mode_of_its_own(self):
        dropping = model(dropout=0.5)
        for part in (dropping.blocks, dropping.blocks[0].mixer, dropping.output):
            with self.assertRaisesRegex(RuntimeError, f"^{part._place} has no mode of its own: .*; call train.. or eval.. of"):
                part.eval()
            part.train()
        whole = nn.Sequential(dropping).eval()
        self.assertFalse(any(each.training for each in whole.modules()))
        dropping.blocks.eval()
        whole.train()
        self.assertTrue(all(each.training for each in whole.modules()))

    def test_another_module_in_place_of_a_part(self):
        mixer = self.model.blocks[0].mixer
        for other in (nn.Identity(), nn.Linear(4, 12, bias=False), nn.Linear(4, 4), torch.ao.nn.quantized.Linear(4, 12),
                      nn.Embedding(12, 4), None):
            self.refused(TypeError, "language_model: blocks.0.mixer.qkv cannot be replaced by ",
                         lambda: setattr(mixer, "qkv", other))
        without = sg.layer("multi_head_attention", d_model=4, n_head=2, bias=False)
        self.refused(TypeError, "multi_head_attention: output cannot be replaced by a Linear(in_features=4, out_features=4, "
                     "bias=True): ", lambda: setattr(without, "output", nn.Linear(4, 4)))
        for error, change in ((TypeError, lambda: delattr(self.model, "final_norm")),
                              (TypeError, lambda: setattr(self.model, "embedding", nn.Embedding(7, 4, padding_idx=0))),
                              (TypeError, lambda: setattr(self.model.final_norm, "__class__", nn.Linear)
                               or setattr(self.model, "blocks", nn.ModuleList()))):
            with self.assertRaises(error):
                change()
        with self.assertRaisesRegex(TypeError, "^language_model: blocks takes no more blocks; "):
            self.model.blocks.append(nn.Identity())
        with self.assertRaisesRegex(TypeError, "^multi_head_attention: output has no bias, so a new one would change nothing"):
            without.output.bias = nn.Parameter(torch.ones(4))

    def test_what_may_stand_in_the_place_of_a_part(self):
        expected = self.model(self.tokens)
        for name in ("output", "embedding", "final_norm", "blocks.0.mixer.qkv"):
            part = self.model.get_submodule(name)
            kind = {"output": lambda: nn.Linear(4, 7), "embedding": lambda: nn.Embedding(7, 4),
                    "final_norm": lambda: nn.LayerNorm(4)}.get(name, lambda: nn.Linear(4, 12))()
            kind.load_state_dict(part.state_dict())
            self.model.set_submodule(name, kind)
            self.assertTrue(torch.equal(self.model(self.tokens), expected), name)
        with torch.no_grad():
            self.model.output.bias += 1
        torch.testing.assert_close(self.model(self.tokens), expected + 1)
        self.model.output.register_forward_hook(print)
        self.refused(RuntimeError, "language_model: output takes no hooks: ", lambda: self.model(self.tokens))

    def test_parametrizations(self):
        class Twice(nn.Module):
            def forward(self, weight):
                return 2 * weight

        expected = copy.deepcopy(self.model)
        with torch.no_grad():
            expected.output.weight *= 2
        parametrize.register_parametrization(self.model.output, "weight", Twice())
        self.assertTrue(torch.equal(self.model(self.tokens), expected(self.tokens)))
        self.model(self.tokens).sum().backward()
        self.assertIsNotNone(self.model.output.parametrizations.weight.original.grad)
        parametrize.remove_parametrizations(self.model.output, "weight")
        self.assertTrue(torch.equal(self.model(self.tokens), expected(self.tokens)))

    @unittest.skipIf(importlib.util.find_spec("peft") is None, "Python has no peft")
    def test_lora_of_peft(self):
        import peft
        adapt = lambda **more: peft.get_peft_model(
            copy.deepcopy(self.model), peft.LoraConfig(target_modules=["qkv", "up", "output"], r=2, **more))
        adapted = adapt()
        self.assertTrue(torch.equal(adapted(self.tokens), self.model(self.tokens)))
        for name, each in adapted.named_parameters():
            self.assertEqual(each.requires_grad, "lora" in name)
            if "lora_B" in name:
                nn.init.normal_(each)
        y = adapted(self.tokens)
        self.assertGreater((y - self.model(self.tokens)).abs().max(), 0.01)
        y.sum().backward()
        self.assertTrue(all(each.grad.abs().max() > 0 for name, each in adapted.named_parameters() if "lora" in name))
        with adapted.disable_adapter():
            self.assertTrue(torch.equal(adapted(self.tokens), self.model(self.tokens)))
        merged = adapted.merge_and_unload()
        torch.testing.assert_close(merged(self.tokens), y)
        self.assertEqual(type(merged.blocks[0].mixer.qkv), type(self.model.blocks[0].mixer.qkv))
        for more in ({"lora_dropout": 0.1}, {"use_dora": True}):
            self.refused(TypeError, "language_model: blocks.0.mixer.qkv takes no lora_dropout, lora_bias or variant ",
                         lambda: adapt(**more).train()(self.tokens))
        with self.assertRaises(TypeError):
            peft.get_peft_model(copy.deepcopy(self.model), peft.LoraConfig(
                target_modules=["qkv"], modules_to_save=["final_norm"]))

    def test_numbers_of_numpy_and_torch(self):
        import numpy
        plain = sg.layer("transformer_xl_attention", d_model=8, n_head=2, window=3, causal=True, attention_dropout=0.5)
        given = sg.layer("transformer_xl_attention", d_model=numpy.int64(8), n_head=torch.tensor(2), window=numpy.uint8(3),
                         causal=numpy.bool_(True), attention_dropout=numpy.float32(0.5))
        self.assertEqual(given.config, plain.config)
        self.assertEqual(given.extra_repr(), plain.extra_repr())
        model(d_inner=numpy.int32(3))
        with self.assertRaisesRegex(ValueError, 'config key "n_head" is 2.5'):
            sg.layer("multi_head_attention", d_model=8, n_head=numpy.float64(2.5))


class Inside(unittest.TestCase):
    """What a call returns besides its result."""

    def test_hidden_states(self):
        torch.manual_seed(2)
        tokens, earlier = torch.randint(7, (2, 5)), torch.randint(7, (2, 3))
        for mixer in mixers:
            whole = model(mixer)
            logits, hidden = whole(tokens, return_hidden=True)
            self.assertTrue(torch.equal(logits, whole(tokens)))
            hidden.pow(2).sum().backward()
            self.assertGreater(whole.embedding.weight.grad.abs().max(), 0)
            self.assertIsNone(whole.output.weight.grad) if whole.output.weight.grad is None else self.assertEqual(
                whole.output.weight.grad.abs().max(), 0)
            if mixer == "aft":
                continue
            memory = whole(earlier, mem_len=3)[1]
            logits, hidden, after = whole(tokens, memory, 4, return_hidden=True)
            plain, plain_after = whole(tokens, memory, 4)
            self.assertTrue(torch.equal(logits, plain) and torch.equal(after, plain_after))
            torch.testing.assert_close(whole.output(hidden), logits)
            compiled = torch.compile(whole, fullgraph=True, backend="aot_eager")
            self.assertTrue(torch.equal(compiled(tokens, return_hidden=True)[1], whole(tokens, return_hidden=True)[1]))

    def test_weights_of_attention(self):
        """They have 1 as their sum, 0 where a key is hidden, and make the output of the values."""
        torch.manual_seed(3)
        for name, config, width in forms():
            given = inputs(name, config, width, torch.float64, masks=True)
            layer, T = randomized(name, config, torch.float64), given["x"].shape[1]
            kind = config.get("mixer", {}).get("type", name)
            with self.subTest(label(name, config)):
                if kind == "local_rnn":
                    with self.assertRaisesRegex(ValueError, f"^{name}: has no attention"):
                        layer(**given, need_weights=True)
                    continue
                y, mean = layer(**given, need_weights=True)
                self.assertTrue(torch.equal(y, layer(**given)))
                K = T + (given["memory"].shape[1] if "memory" in given else 0)
                weights = layer(**given, need_weights=True, average_attn_weights=False)[1]
                self.assertEqual(mean.shape, (2, T, K))
                torch.testing.assert_close(weights.mean(3 if kind == "aft" else 1), mean)
                total = mean.sum(-1)
                self.assertTrue(((total - 1).abs() < 1e-9).logical_or(total == 0).all())
                if "key_padding_mask" in given:
                    hidden = given["key_padding_mask"][:, None] | given["attention_mask"]
                    self.assertEqual(mean[hidden].abs().sum(), 0)
                self.assertFalse(mean.requires_grad)

    def test_weights_are_those_of_torch(self):
        torch.manual_seed(4)
        theirs = nn.MultiheadAttention(8, 2, batch_first=True).double()
        ours = sg.layer("multi_head_attention", d_model=8, n_head=2, causal=False).double()
        ours.load_state_dict(dict(zip(("qkv.weight", "qkv.bias", "output.weight", "output.bias"), (
            theirs.in_proj_weight, theirs.in_proj_bias, theirs.out_proj.weight, theirs.out_proj.bias))))
        x, mask = torch.randn(2, 5, 8).double(), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        for average in (True, False):
            for got, expected in zip(ours(x, key_padding_mask=mask, need_weights=True, average_attn_weights=average),
                                     theirs(x, x, x, mask, average_attn_weights=average)):
                torch.testing.assert_close(got, expected)
        context = torch.randn(2, 3, 8).double()
        for got, expected in zip(ours(x, context=context, need_weights=True), theirs(x, context, context)):
            torch.testing.assert_close(got, expected)
        with self.assertRaisesRegex(NotImplementedError, "^multi_head_attention: weights of attention are constants, so "):
            make_fx(lambda x: ours(x, need_weights=True))(x)

    def test_weights_of_a_model(self):
        tokens = torch.randint(7, (2, 5))
        whole = model("transformer_xl_attention")
        logits, weights = whole(tokens, need_weights=True)
        self.assertTrue(torch.equal(logits, whole(tokens)))
        self.assertEqual(weights.shape, (2, 2, 2, 5, 5))
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 2, 5))
        memory = whole(tokens, mem_len=5)[1]
        everything = whole(tokens, memory, 5, return_hidden=True, need_weights=True)
        self.assertEqual([tuple(each.shape) for each in everything], [(2, 5, 7), (2, 5, 4), (2, 2, 5, 4), (2, 2, 2, 5, 10)])


def run(program, *arguments, given=None):
    made = subprocess.run([os.environ[program], *arguments], input=given, capture_output=True, text=True)
    if made.returncode:
        raise AssertionError(f"{program} {arguments}: {made.stderr}")
    return made.stdout


class Saved(unittest.TestCase):
    """What `save` writes is a checkpoint of the programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_model_that_char_lm_trained(self):
        Path(self.folder, "text").write_text("ROMEO:\nBut soft, what light\n" * 50)
        run("CHAR_LM", "train", "--data", str(self.folder / "text"), "--out_dir", str(self.folder / "run"), "--n_layer", "1",
            "--n_head", "1", "--n_embd", "8", "--max_iters", "2", "--model", "transformer_xl", "--mem_len", "6",
            "--block_size", "12", "--dropout", "0.25")
        trained = sg.load(self.folder / "run")
        with torch.no_grad():
            for parameter in trained.parameters():
                parameter.normal_()
        trained.save(self.folder / "new.safetensors")
        again = sg.load(self.folder / "new.safetensors")
        self.assertEqual((again.flags, again.config, again.mem_len), (trained.flags, trained.config, trained.mem_len))
        for name, value in trained.state_dict().items():
            self.assertTrue(torch.equal(again.state_dict()[name], value))
        written = run("CHAR_LM", "generate", str(self.folder / "new.safetensors"), "--prompt", "ROMEO", "--length", "30",
                      "--seed", "3")
        self.assertEqual(written, "ROMEO" + trained.generate("ROMEO", length=30, seed=3) + "\n")
        trained.double().save(self.folder / "double.safetensors")
        self.assertEqual(Path(self.folder, "double.safetensors").read_bytes(),
                         Path(self.folder, "new.safetensors").read_bytes())
        self.assertIn("transformer_xl", run("CHAR_LM", "inspect", str(self.folder / "new.safetensors")))

    def test_a_model_of_ones_own(self):
        for mixer in mixers:
            own = model(mixer, vocab_size=3, dropout=0.1)
            file = self.folder / f"{mixer}.safetensors"
            with self.assertRaisesRegex(ValueError, "^language_model: a model without a vocabulary is no run; "):
                own.save(file)
            own.vocabulary = sg.Vocabulary("Characters", "characters", [10, 97, 233])
            own.save(file)
            again = sg.load(file)
            tokens = torch.randint(3, (1, 5))
            self.assertTrue(torch.equal(again(tokens), own.eval()(tokens)))
            self.assertEqual(again.config.get("dropout"), 0.1)
            self.assertEqual(again.vocabulary.decode(torch.tensor([1, 2])), "aé")
            self.assertEqual(len(run("CHAR_LM", "generate", str(file), "--prompt", "a", "--length", "9")), 11)

    def test_a_model_that_seq2seq_trained(self):
        Path(self.folder, "pairs").write_text("ab\tba\nbc\tcb\n" * 30)
        run("SEQ2SEQ", "train", "--data", str(self.folder / "pairs"), "--out_dir", str(self.folder / "run"), "--max_iters", "2",
            "--n_layer", "1", "--n_head", "1", "--n_embd", "8")
        trained = sg.load(self.folder / "run")
        with torch.no_grad():
            trained.output.weight.normal_()
        trained.save(self.folder / "new.safetensors")
        written = run("SEQ2SEQ", "translate", str(self.folder / "new.safetensors"), given="abc\n")
        self.assertEqual(written, trained.generate("abc") + "\n")

    def test_what_cannot_be_saved(self):
        own, file = model(), self.folder / "file"
        own.vocabulary = sg.Vocabulary("Characters", "bytes", [10, 97])
        for line, prepare in (("a vocabulary of 2 tokens for a model with vocab_size 7", lambda: None),
                              ("tensor \"output.bias\": not finite", lambda: own.output.bias.data.fill_(torch.nan))):
            prepare()
            with self.assertRaisesRegex(ValueError, f"^{file}: .*{line}"):
                own.save(file)
            self.assertFalse(file.exists())
            own.vocabulary = sg.Vocabulary("Characters", "bytes", list(range(7)))
        with self.assertRaises(ValueError):
            model().save(self.folder / "nowhere" / "file")


if __name__ == "__main__":
    unittest.main()
