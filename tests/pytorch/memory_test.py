"""Memory that runs out, and memory that is given back."""

import gc
import os
import unittest

import torch

import shiftgrad.torch as sg
from shiftgrad import _extension


class RunsOut(unittest.TestCase):
    """More bytes than any address space has are a MemoryError, as PyTorch's users know it."""

    def refused(self, run):
        with self.assertRaisesRegex(MemoryError, "^[^\n]*allocate[^\n]*$"):
            run()

    def test_parameters(self):
        self.refused(lambda: sg.layer("multi_head_attention", d_model=1 << 24, n_head=1))

    def test_a_call(self):
        huge = torch.zeros(1, 1, 1, 1).expand(1 << 20, 1 << 12, 1 << 4, 1 << 10)
        self.refused(lambda: sg.relative_attention(huge, huge, huge))
        for grad in (True, False):
            q = torch.zeros(1, 1, 1, 1, requires_grad=grad)
            self.refused(lambda: sg.relative_attention(*(q.expand(1 << 20, 1 << 12, 1 << 4, 1 << 10),) * 3))


@unittest.skipIf("asan" in os.environ.get("LD_PRELOAD", ""), "a sanitizer keeps nothing for the library")
class GivenBack(unittest.TestCase):
    def bytes_of(self, y):
        """What the library gets back when the last reference to y goes."""
        gc.collect()
        sg.empty_cache()
        before = _extension.cached_bytes()
        y.clear()
        gc.collect()
        return _extension.cached_bytes() - before

    def test_an_output_keeps_no_gradient(self):
        q = torch.randn(2, 4, 512, 64, requires_grad=True)
        layer = sg.layer("multi_head_attention", d_model=256, n_head=4)
        for make in (lambda: sg.relative_attention(q, q, q), lambda: layer(torch.randn(4, 512, 256))):
            y = [make()]
            size = y[0].nbytes
            y[0].sum().backward()
            q.grad = None
            layer.zero_grad()
            y[0] = y[0].detach()
            kept = self.bytes_of(y)
            self.assertGreaterEqual(kept, size)
            self.assertLess(kept, 1.5 * size)


if __name__ == "__main__":
    unittest.main()
