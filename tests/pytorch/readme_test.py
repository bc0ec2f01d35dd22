"""The README's Python, as written, with a small run where it loads one."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

readme = Path(__file__).parents[2] / "examples/python/README.md"


def train(folder):
    Path(folder, "text").write_text("ROMEO:\nBut soft, what light\n" * 50)
    subprocess.run(
        [os.environ["CHAR_LM"], "train", "--data", "text", "--out_dir", "out", "--n_layer", "1", "--n_head", "1",
         "--n_embd", "8", "--max_iters", "2"],
        cwd=folder, check=True, stdout=subprocess.DEVNULL)


class Readme(unittest.TestCase):
    def test_the_examples_run(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", readme.read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 3)
        names = {}
        with tempfile.TemporaryDirectory() as folder:
            train(folder)
            os.chdir(folder)
            for block in blocks:
                exec(block, names)
            os.chdir("/")


if __name__ == "__main__":
    unittest.main()
