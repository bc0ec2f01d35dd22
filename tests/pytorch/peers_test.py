"""The steps that peers.py times are PyTorch's, in each peer that is installed, and what differs is refused."""

import contextlib
import importlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

import numpy
import torch

BENCH = Path(__file__).parents[1] / "bench"
sys.path.insert(0, str(BENCH))
import peers  # noqa: E402
from peers import steps, with_pytorch  # noqa: E402

peers.TRANSFORMERS["transformer tiny"] = (2, 2, 32, 16, 3)
peers.TRANSFORMER_XL["transformer_xl tiny"] = (2, 2, 32, 16, 3)
peers.LAYERS |= {"aft full tiny": (24, 2), "attention tiny": (24, 2)}
TINY = ["transformer tiny", "transformer_xl tiny", "aft full tiny", "attention tiny"]


def seen(make_step, *words):
    step = make_step(*words)
    return [list(map(steps.seen, step())) for _ in range(steps.CHECKED)]


class Peers(unittest.TestCase):
    def ends(self, *words):
        """What the script says on standard error when it ends."""
        error, sys.argv = io.StringIO(), ["peers.py", *words]
        with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()), self.assertRaises(SystemExit):
            peers.main()
        return error.getvalue().splitlines()[-1] if error.getvalue() else ""

    def of_each(self, peer, package, cases):
        try:
            module = importlib.import_module(f"with_{peer}")
        except ImportError as missing:
            self.skipTest(f"{peer} is not there: {missing}")
        for name in cases:
            case = peers.new_case(name)
            for precision in peers.precisions_of(peer):
                with self.subTest(name, precision=precision):
                    peers.check(name, seen(module.make_step, case, precision), peers.reference(case), precision)

    def test_jax(self):
        self.of_each("jax", "jax", TINY)

    def test_mlx(self):
        self.of_each("mlx", "mlx", TINY[:1])

    def test_tinygrad(self):
        self.of_each("tinygrad", "tinygrad", TINY[:1])

    def test_ways_of_pytorch(self):
        for name in TINY[:1] + TINY[3:]:
            case = peers.new_case(name)
            for way, precision in [("eager", "bfloat16"), ("eager with bfloat16 weights", "bfloat16")]:
                with self.subTest(name, way=way):
                    peers.check(name, seen(with_pytorch.make_step, case, precision, way), peers.reference(case), precision)

    def test_files_of_llm_c(self):
        """A header of 256 numbers, all weights as floats, and tokens of two bytes."""
        case = peers.new_case(TINY[0])
        weights = sum(array.size for name, array in case.items() if name not in ("shape", "text"))
        with tempfile.TemporaryDirectory() as folder:
            peers.write_for_llm_c(Path(folder), case)
            found = [numpy.fromfile(Path(folder) / "weights.bin", numpy.int32),
                     numpy.fromfile(Path(folder) / "tokens.bin", numpy.uint16)]
        self.assertEqual(found[0][:8].tolist(), [20240326, 3, 16, 96, 2, 2, 32, 96])
        self.assertEqual(found[0].size, 256 + weights)
        floats = found[0][256:].view(numpy.float32)
        numpy.testing.assert_array_equal(floats[: 96 * 32], case["embedding.weight"].ravel())
        numpy.testing.assert_array_equal(floats[-32:], case["norm.bias"])
        numpy.testing.assert_array_equal(found[1][512:], case["text"])

    def test_what_differs_is_refused(self):
        """Another model's loss, and one whose GELU is another, where rounding is not allowed as much."""
        case = peers.new_case(TINY[0])
        expected = peers.reference(case)
        for wrong in [{**case, "norm.weight": 1.01 * case["norm.weight"]},
                      {**case, "blocks.0.3.0.bias": case["blocks.0.3.0.bias"] + 0.1}]:
            with self.assertRaises(SystemExit) as ended:
                peers.check("tiny, JAX", peers.reference(wrong), expected, "float32")
            self.assertRegex(str(ended.exception), r"^tiny, JAX, float32: step 1 gives [0-9.]+ of size [0-9.]+, "
                                                   r"expected [0-9.]+ of size [0-9.]+ as in PyTorch$")
        with self.assertRaises(SystemExit):
            peers.check("tiny, JAX", [[(float("nan"), 1.0)]], expected, "float32")

    def test_flags(self):
        self.assertEqual(self.ends("--help"), "")
        self.assertEqual(self.ends(), "peers.py: error: the following arguments are required: build")
        self.assertEqual(self.ends("build", "--only", "nothing"),
                         "peers.py: error: --only nothing: no row has this in its name")


if __name__ == "__main__":
    torch.set_num_threads(2)
    unittest.main()
