"""Relative attention and attention-free transformers on CPUs. `import shiftgrad.torch as sg`."""
