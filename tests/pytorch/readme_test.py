"""The README's Python, as written."""

import re
import unittest
from pathlib import Path

readme = Path(__file__).parents[2] / "examples/pytorch/README.md"


class Readme(unittest.TestCase):
    def test_the_examples_run(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", readme.read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 2)
        names = {}
        for block in blocks:
            exec(block, names)


if __name__ == "__main__":
    unittest.main()
