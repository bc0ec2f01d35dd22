"""transfo_xl.py beside the implementation that transformers 4.57.6 still has."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch

root = Path(__file__).parents[2]
sys.path.insert(0, str(root / "examples/python"))
from transfo_xl import TransfoXL  # noqa: E402

try:
    from transformers.models.deprecated.transfo_xl import modeling_transfo_xl as transfo_xl
    missing = None
except ImportError as error:
    missing = str(error)

V, B, T, M = 300, 2, 7, 10


def theirs(**more):
    """Random weights in the shape of transfo-xl-wt103, smaller: its cutoffs, div_val, clusters and ties."""
    torch.manual_seed(1)
    model = transfo_xl.TransfoXLLMHeadModel(transfo_xl.TransfoXLConfig(**{
        "vocab_size": V, "cutoffs": [20, 40, 200], "d_model": 64, "d_embed": 64, "n_head": 4, "d_head": 16,
        "d_inner": 96, "div_val": 4, "n_layer": 3, "mem_len": M, "clamp_len": 8, "dropout": 0, "dropatt": 0} | more))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.3, 0.3)
    model = model.double().eval()
    # Its frequencies are floats.
    C = model.config.d_model
    model.transformer.pos_emb.inv_freq = 1 / 10000 ** (torch.arange(0, C, 2, dtype=torch.float64) / C)
    return model


def run(model, tokens, memory, **more):
    # transformers 4.57.6 calls type_as with a dtype, which no torch takes, and rounds scores to floats.
    type_as, to_float = torch.Tensor.type_as, torch.Tensor.float
    with mock.patch.object(torch.Tensor, "type_as", lambda tensor, other=None, dtype=None: (
            tensor.to(dtype) if other is None else type_as(tensor, other))):
        with mock.patch.object(torch.Tensor, "float", lambda tensor: (
                tensor if tensor.dtype is torch.float64 else to_float(tensor))):
            return model(tokens, mems=memory, **more)


@unittest.skipIf(missing, f"{missing}")
class TransformerXL(unittest.TestCase):
    def test_segments(self):
        """Losses, memories and probabilities of eight segments; of each form that the config has."""
        for more in ({}, {"same_length": False}, {"untie_r": False}, {"clamp_len": -1}, {"pre_lnorm": True}):
            with self.subTest(more):
                old = theirs(**more)
                new = TransfoXL(old.state_dict(), mem_len=M, clamp_len=more.get("clamp_len", 8),
                                same_length=more.get("same_length", True), pre_lnorm=more.get("pre_lnorm", False))
                memory, mems = None, None
                text = torch.randint(V, (B, 8 * T + 1))
                for part in range(8):
                    tokens = text[:, part * T:part * T + T]
                    with torch.no_grad():
                        expected = run(old, tokens, mems)
                        scores = new.log_probabilities(new(tokens, memory)[0])
                        losses, memory = new.losses(tokens, text[:, part * T + 1:part * T + T + 1], memory)
                    mems = expected.mems
                    self.near(scores, expected.prediction_scores.view(B, T, V))
                    self.near(memory, torch.stack(mems).transpose(1, 2))
                    self.near(losses, -scores.gather(2, text[:, part * T + 1:part * T + T + 1, None])[..., 0])

    def near(self, got, expected):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-9)

    def test_losses_of_labels(self):
        """The losses that its own forward gives for labels, which are sorted by cluster."""
        old = theirs()
        tokens = torch.randint(V, (B, T))
        with torch.no_grad():
            expected = run(old, tokens, None, labels=tokens).losses
            losses, _ = TransfoXL(old.state_dict(), mem_len=M, clamp_len=8).losses(tokens[:, :-1], tokens[:, 1:])
        expected = expected.flatten()[expected.flatten() != 0]
        self.near(losses.flatten().sort()[0], expected.sort()[0])

    def test_generation(self):
        """Token by token with memory, as its own logits choose them."""
        old = theirs()
        new = TransfoXL(old.state_dict(), mem_len=M, clamp_len=8)
        prompt = torch.randint(V, (B, T))
        tokens, mems, expected = prompt, None, []
        with torch.no_grad():
            for _ in range(12):
                out = run(old, tokens, mems)
                mems, tokens = out.mems, out.prediction_scores.view(B, -1, V)[:, -1:].argmax(-1)
                expected.append(tokens)
        self.assertTrue(torch.equal(new.generate(prompt, 12, temperature=0), torch.cat(expected, 1)))
        drawn = [new.generate(prompt, 12, seed=seed) for seed in (1, 1, 2)]
        self.assertTrue(torch.equal(drawn[0], drawn[1]))
        self.assertFalse(torch.equal(drawn[0], drawn[2]))

    def test_the_program(self):
        """It reads a file, in which shared tensors may be there once."""
        from safetensors.torch import save_file
        old = theirs()
        state = {name: each.contiguous().clone() for name, each in old.state_dict().items()
                 if not (name.startswith("crit.out_layers") and name.endswith("weight"))}
        tokens = torch.randint(V, (1, 30))
        with torch.no_grad():
            losses, _ = TransfoXL(old.state_dict(), mem_len=M, clamp_len=8).losses(tokens[:, :-1], tokens[:, 1:])
        with tempfile.TemporaryDirectory() as folder:
            save_file(state, Path(folder, "model.safetensors"))
            Path(folder, "tokens").write_text(" ".join(map(str, tokens[0].tolist())))
            done = subprocess.run(
                [sys.executable, root / "examples/python/transfo_xl.py", "model.safetensors", "tokens", "--mem_len",
                 str(M), "--clamp_len", "8", "--segment", "5", "--length", "4", "--seed", "1"],
                cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = done.stdout.splitlines()
        self.assertTrue(first.endswith(" nats each"))
        self.assertEqual(len(second.split()), 4)

    def test_bad_input(self):
        with self.assertRaisesRegex(ValueError, "^TransfoXL: a state with 0 tables of embeddings, 0 projections "):
            TransfoXL({})
        new = TransfoXL(theirs().state_dict(), mem_len=M, clamp_len=8)
        with self.assertRaisesRegex(ValueError, "^TransfoXL: tokens from 3 to 300, expected 0 to 299$"):
            new(torch.tensor([[3, V]]))
        with self.assertRaisesRegex(ValueError, "^TransfoXL: a prompt without tokens, expected at least 1$"):
            new.generate(torch.zeros(1, 0, dtype=torch.int64), 3)


if __name__ == "__main__":
    if missing:
        print(f"SKIPPED: {missing}", file=sys.stderr)
    unittest.main()
