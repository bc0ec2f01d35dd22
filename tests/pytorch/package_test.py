"""The package around the layers: its version, hints, help, the bench and the source distribution."""

import csv
import email
import inspect
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import typing
import unittest
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import torch

import shiftgrad
import shiftgrad.torch as sg
from shiftgrad.bench import ways
from shiftgrad.bench.models import megabytes, models

root = Path(__file__).parents[2]


def bench(*flags, **options):
    return subprocess.run([sys.executable, "-m", "shiftgrad.bench", *flags], capture_output=True, text=True, **options)


class Package(unittest.TestCase):
    def test_version(self):
        """It is the library's, also where nothing else of the package has been imported."""
        version = re.search(r"^  version: '(.*)',$", (root / "meson.build").read_text(), re.MULTILINE)[1]
        self.assertEqual(shiftgrad.__version__, version)
        self.assertIn(f'version = "{version}"', (root / "examples/python/pyproject.toml").read_text())
        alone = subprocess.run([sys.executable, "-c", "import shiftgrad; print(shiftgrad.__version__)"],
                               capture_output=True, text=True)
        self.assertEqual(alone.stdout, version + "\n", alone.stderr)
        with self.assertRaisesRegex(AttributeError, "^module shiftgrad has no attribute missing$"):
            shiftgrad.missing

    def test_without_torch(self):
        """The version and --help need no PyTorch; what does says so in one line."""
        def run(*arguments):
            with tempfile.TemporaryDirectory() as folder:
                # As where none is installed: this is found first, and is not there.
                (Path(folder) / "sitecustomize.py").write_text(
                    "import importlib.abc, sys\n"
                    "class Without(importlib.abc.MetaPathFinder):\n"
                    "    def find_spec(self, name, path=None, target=None):\n"
                    "        if name == 'torch':\n"
                    "            raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
                    "sys.meta_path.insert(0, Without())\n")
                path = os.pathsep.join([folder, os.environ["PYTHONPATH"]])
                return subprocess.run([sys.executable, *arguments], capture_output=True, text=True,
                                      env={**os.environ, "PYTHONPATH": path})
        alone = run("-c", "import shiftgrad; print(shiftgrad.__version__)")
        self.assertEqual((alone.stdout, alone.stderr), (shiftgrad.__version__ + "\n", ""))
        helped = run("-m", "shiftgrad.bench", "--help")
        self.assertEqual((helped.returncode, helped.stderr), (0, ""))
        self.assertIn("--gigabytes", helped.stdout)
        for arguments, line in (
                (("-m", "shiftgrad.bench"), "python -m shiftgrad.bench: error: Python has no PyTorch; pip install torch"),
                (("-c", "import shiftgrad.torch"), "ImportError: shiftgrad.torch needs PyTorch 2.6 or newer, which this "
                                                   "Python does not have: pip install torch")):
            failed = run(*arguments)
            self.assertNotEqual(failed.returncode, 0)
            self.assertEqual(failed.stderr.splitlines()[-1], line)
            self.assertNotIn("During handling", failed.stderr)

    def test_hints(self):
        """Each public function, and each method that a user calls, says what it takes and gives."""
        self.assertTrue((Path(shiftgrad.__file__).parent / "py.typed").exists())
        functions = [sg.accelerate, sg.restore, sg.layer, sg.load, sg.relative_attention, sg.set_precision]
        for kind in (sg.Layer, sg.LanguageModel, sg.EncoderDecoder):
            names = ("forward", "start", "step", "generate", "save")
            functions += [getattr(kind, name) for name in names if hasattr(kind, name)]
        for function in functions:
            hints = typing.get_type_hints(function)
            wanted = [name for name in inspect.signature(function).parameters if name != "self"]
            self.assertEqual(sorted(hints), sorted([*wanted, "return"]), function.__qualname__)
            self.assertTrue(function.__doc__, function.__qualname__)

    def test_bench_refuses(self):
        bounds = "--layers is at least 0, --threads at least 1, and --minutes above 0"
        for flags, text in ((("--only", "nothing"), "--only nothing: expected a part of one of Parakeet-0.6B "),
                            (("--ways", "onnx"), "--ways onnx: expected a part of one of eager; eager, autocast; "),
                            (("--ways", "compiled"), "--ways compiled: expected a part of one of eager; "),
                            (("--layers", "-1"), bounds),
                            (("--threads", "0"), bounds),
                            (("--minutes", "0"), bounds),
                            (("--gigabytes", "0"), "--gigabytes 0.0, expected more than 0")):
            run = bench(*flags)
            self.assertEqual(run.returncode, 2)
            self.assertIn(text, run.stderr.splitlines()[-1])

    @unittest.skipIf(find_spec("transformers") is None, "Python has no transformers")
    def test_bench(self):
        with tempfile.TemporaryDirectory() as folder:
            run = bench("--only", "deberta-v3-base, 512", "--layers", "1", "--minutes", "600", "--threads", "1",
                        "--json", "figures", "--csv", "seconds", cwd=folder)
            self.assertEqual(run.returncode, 0, run.stderr)
            report = json.loads(Path(folder, "figures").read_text())
            with open(Path(folder, "seconds"), newline="") as file:
                titles, *cases = csv.reader(file)
        self.assertTrue(report["cpu"])
        self.assertIn(report["cpu"], run.stdout)
        lines = [line for line in run.stdout.splitlines() if line.startswith("|")][2:]
        self.assertEqual([row["pass"] for row in report["rows"]], ["inference", "training"])
        self.assertEqual(len(lines), 2)
        first = report["rows"][0]
        self.assertGreater(first["ratio"], 0)
        self.assertIn(f"| {first['ratio']:.2f}", lines[0])
        self.assertEqual(", a loss" in lines[0], first["ratio"] < 1)
        for whose in ("own", "shiftgrad"):
            self.assertEqual(first[whose]["seconds"], min(way["seconds"] for way in first["ways"][whose]))
        self.assertEqual([case[0] for case in cases], [f"DeBERTa-v3-base, 512 tokens, {row['pass']}" for row in report["rows"]])
        for case, row in zip(cases, report["rows"], strict=True):
            whole = dict(zip(titles, case, strict=True))
            least = [min(float(whole[f"{whose}, s, {kind}"]) for kind in ("floats", "autocast"))
                     for whose in ("its own code", "accelerated")]
            self.assertEqual(least, [round(row[whose]["seconds"], 2) for whose in ("own", "shiftgrad")])
            for kind in ("floats", "autocast"):
                self.assertGreater(float(whole[f"own / accelerated, {kind}"]), 0)
        # ONNX Runtime is the own code's, for inference, where Python has it; else the report says so.
        has = ["ONNX Runtime" in [way["way"] for way in row["ways"]["own"]] for row in report["rows"]]
        self.assertEqual(has, [ways.has_onnx(), False])
        self.assertEqual("ONNX Runtime not installed" in run.stdout, not ways.has_onnx())
        self.assertEqual("ONNX Runtime is left out; pip install onnx" in run.stderr, not ways.has_onnx())

    @unittest.skipIf(find_spec("transformers") is None, "Python has no transformers")
    def test_models_of_bench(self):
        for name, (low, high) in {"Parakeet-0.6B encoder": (2300, 2400), "DeBERTa-v3-base": (320, 340),
                                  "T5-base": (750, 770), "w2v-BERT 2.0": (2200, 2300)}.items():
            self.assertTrue(low < megabytes(name, 0) < high, name)

    @unittest.skipIf(find_spec("transformers") is None, "Python has no transformers")
    @unittest.skipUnless(ways.has_onnx(), f"Python has not all of {', '.join(ways.onnx_packages)}")
    def test_onnx_runtime(self):
        """It computes what the model does."""
        for name, length in (("DeBERTa-v3-base", 20), ("T5-base", 20), ("w2v-BERT 2.0", 1)):
            arguments = models[name][3](length)
            torch.manual_seed(1)
            model = models[name][0](1).eval()
            torch.manual_seed(1)
            with tempfile.TemporaryDirectory() as folder, torch.no_grad():
                y = ways.step_in_onnx(name, 1, arguments, folder, 1)[0]()[0]
                torch.testing.assert_close(torch.from_numpy(y), model(**arguments)[0], rtol=1e-3, atol=1e-4)

    def test_failures_of_bench(self):
        """A model that does not export, one that is too large and one that fails are told apart."""
        way = ways.Way(runner="ONNX Runtime")
        for error, what in ((RuntimeError("no such operator"), "does not export"),
                            (MemoryError(), "too large"), (RuntimeError("DefaultCPUAllocator"), "too large")):
            pipe = mock.Mock()
            with mock.patch.object(ways, "step_in_onnx", side_effect=error), mock.patch("os.dup2"):
                ways.work(pipe, "T5-base", 8, False, way, 1, 4, torch.get_num_threads(), "")
            pipe.send.assert_called_once_with((what, f"{type(error).__name__}: {error}"))

    def test_steps_that_count(self):
        """The first step warms up, and compiles; it counts where it is long, but not where it compiles."""
        for way, seconds, expected in (
                (ways.Way(), [3.0, 1.0, 2.0, 6.0], 2.0), (ways.Way(), [3.0], None), (ways.Way(), [30.0], 30.0),
                (ways.Way(runner="compiled"), [30.0], None), (ways.Way(runner="compiled"), [30.0, 4.0], 4.0)):
            self.assertEqual(ways.figures(way, seconds, 7.0, None).get("seconds"), expected)
        self.assertEqual(ways.figures(ways.Way(), [], None, "too large"), {"way": "eager", "failure": "too large"})

    @unittest.skipUnless((root / ".git").exists(), "no repository to make it from")
    def test_source_distribution(self):
        """The tarball has the package, all that the library's build reads, and the link from one to the other."""
        with tempfile.TemporaryDirectory() as folder:
            address = "https://example.org/shiftgrad"
            path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            run = subprocess.run([root / "examples/python/sdist.sh", folder], capture_output=True, text=True,
                                 env={**os.environ, "PATH": path, "REPOSITORY_URL": address})
            self.assertEqual(run.returncode, 0, run.stderr)
            name = f"shiftgrad-{shiftgrad.__version__}"
            with tarfile.open(run.stdout.strip()) as tar:
                names = set(tar.getnames())
                for path in ("PKG-INFO", "pyproject.toml", "core/tensor.h", "examples/python/meson.build",
                             "examples/python/src/shiftgrad/torch/accelerate.py"):
                    self.assertIn(f"{name}/{path}", names)
                self.assertEqual(tar.getmember(f"{name}/examples/python/subprojects/shiftgrad").linkname, "../../..")
                about = tar.extractfile(f"{name}/PKG-INFO").read().decode()
                tar.extractall(folder)
            # As the wheel does, another project reads the library's build from below it.
            (Path(folder) / "meson.build").write_text("project('wheel', 'cpp')\nsubproject('shiftgrad')\n")
            (Path(folder) / "subprojects").mkdir()
            (Path(folder) / "subprojects/shiftgrad").symlink_to(f"../{name}")
            run = subprocess.run(["meson", "setup", f"{folder}/build", folder], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stdout)
        about = email.message_from_string(about)
        self.assertEqual([about["Name"], about["Version"]], ["shiftgrad", shiftgrad.__version__])
        self.assertIn(f"Source, {address}", about.get_all("Project-URL"))
        links = re.findall(r"\]\(([^)]+)\)", about.get_payload())
        self.assertIn(f"{address}/blob/v{shiftgrad.__version__}/nn/README.md", links)
        self.assertEqual([link for link in links if not link.startswith("https://")], [])


if __name__ == "__main__":
    unittest.main()
