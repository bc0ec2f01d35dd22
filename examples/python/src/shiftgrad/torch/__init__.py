"""The layers, the models and the attention kernel of shiftgrad, for PyTorch on CPUs."""

try:
    import torch as _torch  # noqa: F401 - first, since the extension runs on its threads
except ModuleNotFoundError as error:
    raise ImportError("shiftgrad.torch needs PyTorch 2.6 or newer, which this Python does not have: "
                      "pip install torch") from (None if error.name == "torch" else error)

from shiftgrad._extension import empty_cache

from .accelerate import accelerate, restore
from .attention import relative_attention
from .inputs import set_precision
from .layer import Layer
from .model import EncoderDecoder, LanguageModel, layer, load
from .vocabulary import Vocabulary

__all__ = ["EncoderDecoder", "LanguageModel", "Layer", "Vocabulary", "accelerate", "empty_cache", "layer", "load",
           "relative_attention", "restore", "set_precision"]
