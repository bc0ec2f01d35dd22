"""Memory that the library keeps for its next calls, and gives back."""

import gc
import os
import resource
import unittest

import torch

import shiftgrad.torch as sg
from shiftgrad import _extension


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


@unittest.skipIf("asan" in os.environ.get("LD_PRELOAD", ""), "a sanitizer keeps nothing for the library")
class Cache(unittest.TestCase):
    def test_cached_memory_is_given_back(self):
        layer, x = sg.layer("multi_head_attention", d_model=256, n_head=4), torch.randn(8, 1024, 256)
        expected = layer(x).detach()
        layer(x).sum().backward()
        layer.zero_grad()
        gc.collect()
        before, cached = resident(), _extension.cached_bytes()
        self.assertGreater(cached, x.nbytes)
        sg.empty_cache()
        self.assertEqual(_extension.cached_bytes(), 0)
        # What the process holds falls by what was kept, but for pages that were never touched.
        self.assertGreater(before - resident(), cached / 2)
        self.assertTrue(torch.equal(layer(x), expected))
        sg.empty_cache()
        sg.empty_cache()


if __name__ == "__main__":
    unittest.main()
