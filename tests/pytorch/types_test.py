"""The README's Python has the types that it says: mypy and pyright read it in strict mode.

What torch leaves without types, such as Tensor.backward, is left out.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

root = Path(__file__).parents[2] / "examples/python"


def check(folder, *command):
    return subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, env=os.environ | {
        "MYPYPATH": str(root / "src")})


class Types(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        blocks = re.findall(r"^```python\n(.*?)^```$", (root / "README.md").read_text(), re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 3)
        (self.folder / "snippets.py").write_text("\n".join(blocks))
        (self.folder / "mistake.py").write_text("import shiftgrad.torch as sg\nsg.layer(3)\nsg.empty_cache(1)\n")

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "Python has no mypy")
    def test_mypy(self):
        options = ("--strict", "--follow-imports=silent", "--untyped-calls-exclude=torch")
        run = check(self.folder, "mypy", *options, "snippets.py")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("Found 2 errors", check(self.folder, "mypy", *options, "mistake.py").stdout)

    @unittest.skipIf(importlib.util.find_spec("pyright") is None, "Python has no pyright")
    def test_pyright(self):
        if check(self.folder, "pyright", "--version").returncode != 0:
            self.skipTest("npm cannot get pyright's program")
        (self.folder / "pyrightconfig.json").write_text(json.dumps({
            "typeCheckingMode": "strict", "extraPaths": [str(root / "src")], "reportUnknownMemberType": False}))
        run = check(self.folder, "pyright", "--pythonpath", sys.executable)
        lines = [line for line in run.stdout.splitlines() if " - error: " in line]
        self.assertEqual([line for line in lines if "snippets.py" in line], [])
        self.assertEqual(len(lines), 2, run.stdout + run.stderr)  # those of the mistakes


if __name__ == "__main__":
    unittest.main()
