"""The script that runs transformers' own tests on accelerated models, on a checkout of two small tests."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

script = Path(__file__).parent / "transformers_tests.py"
lacking = [name for name in ("pytest", "transformers") if importlib.util.find_spec(name) is None]

tests = """
import transformers

def model():
    return transformers.T5EncoderModel(transformers.T5Config(
        vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2))

def test_runs():
    import torch
    assert model()(torch.zeros(1, 3, dtype=torch.long)).last_hidden_state.shape == (1, 3, 8)

def test_is_of_transformers():
    assert type(model().encoder.block[0].layer[0].SelfAttention).__module__.startswith("transformers")

def test_fails():
    assert False

def test_constructs_nothing():
    pass

def test_warns():
    import warnings
    warnings.warn("2 passed, 1 failed, 3 attentions were accelerated")
    import pytest
    pytest.skip()
"""


@unittest.skipIf(lacking, f"Python has no {' and no '.join(lacking)}")
class Script(unittest.TestCase):
    def test_what_fails_only_accelerated(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "tests/models/t5")
            place.mkdir(parents=True)
            (place / "test_modeling_t5.py").write_text(tests)
            run = subprocess.run([sys.executable, script, folder], capture_output=True, text=True)
            self.assertEqual(run.returncode, 1, run.stderr)
            lines = run.stdout.splitlines()
            self.assertEqual(lines, [
                "as they are: 3 passed, 1 failed, 1 skipped",
                "accelerated: 2 passed, 2 failed, 1 skipped, 2 attentions were accelerated",
                "0 of 5 fail only as they are",
                "1 of 5 fail only where the models are accelerated",
                "tests.models.t5.test_modeling_t5::test_is_of_transformers"])
            run = subprocess.run([sys.executable, script, folder, "t5", "--pytest", "-k runs"], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout.splitlines()[3:]),
                             (0, ["0 of 1 fail only where the models are accelerated"]), run.stderr)
            run = subprocess.run([sys.executable, script, folder, "--pytest", "-k fails"], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr), (1, (
                "transformers_tests.py: none of 1 tests passes as it is, so there is nothing to compare\n")))
            run = subprocess.run([sys.executable, script, folder, "--pytest", "-k constructs"], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr), (1, (
                "transformers_tests.py: these tests construct no model with an attention to accelerate\n")))
            run = subprocess.run([sys.executable, script, folder, "t6"], capture_output=True, text=True)
            self.assertEqual(run.returncode, 2)
            self.assertTrue(run.stderr.endswith("has no tests/models/t6\n"))


if __name__ == "__main__":
    unittest.main()
