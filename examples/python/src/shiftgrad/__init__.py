"""Relative attention and attention-free transformers on CPUs. `import shiftgrad.torch as sg`."""

import contextlib

__version__: str  # the library's


def __getattr__(name: str) -> str:
    if name == "__version__":
        with contextlib.suppress(ImportError):
            import torch  # noqa: F401 - first, since the extension runs on its threads
        from shiftgrad._extension import __version__
        return __version__
    raise AttributeError(f"module {__name__} has no attribute {name}")
