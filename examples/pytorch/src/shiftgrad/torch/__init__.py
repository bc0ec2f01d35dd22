"""The layers and the attention kernel of shiftgrad, for PyTorch on CPUs."""

from shiftgrad._extension import empty_cache

from .attention import relative_attention
from .inputs import set_precision
from .layer import Layer, layer

__all__ = ["Layer", "empty_cache", "layer", "relative_attention", "set_precision"]
