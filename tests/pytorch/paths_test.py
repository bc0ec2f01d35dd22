"""Runs in places whose names are no UTF-8: they load, and errors show the bytes."""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

import torch

import shiftgrad.torch as sg

old_run = Path(__file__).parents[1] / "support/data/old_run"


class Paths(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def test_a_run(self):
        shutil.copytree(os.fsencode(old_run), b"g\xe9n")
        tokens, expected = torch.arange(9)[None], sg.load(old_run)
        for path in (b"g\xe9n", os.fsdecode(b"g\xe9n"), b"g\xe9n/best.safetensors"):
            model = sg.load(path)
            self.assertEqual(model.flags, expected.flags)
            self.assertTrue(torch.equal(model(tokens), expected(tokens)))

    def test_errors_show_the_bytes(self):
        Path(os.fsdecode(b"\xff.safetensors")).write_bytes(b"nothing of the kind")
        for path in (b"missing\xff", os.fsdecode(b"missing\xff")):
            with self.assertRaises(ValueError) as refused:
                sg.load(path)
            self.assertEqual(str(refused.exception), r"missing\xff/best.safetensors: no such file")
        with self.assertRaises(ValueError) as refused:
            sg.load(b"\xff.safetensors")
        self.assertTrue(str(refused.exception).startswith(r"\xff.safetensors: "), refused.exception)


if __name__ == "__main__":
    unittest.main()
