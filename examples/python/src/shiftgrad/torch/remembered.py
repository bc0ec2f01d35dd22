"""What was made from the values of a tensor, kept as long as these values are there."""

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from shiftgrad import _extension

_made = WeakTensorKeyDictionary()


def _fingerprint(tensor):
    """A hash of the bytes of a tensor; what an axis repeats counts once."""
    for axis, stride in enumerate(tensor.stride()):
        if stride == 0:
            tensor = tensor.narrow(axis, 0, min(1, tensor.shape[axis]))
    if not tensor.is_contiguous() or tensor.is_neg() or tensor._is_zerotensor():
        tensor = tensor.clone(memory_format=torch.contiguous_format)
    return _extension.fingerprint(tensor.data_ptr(), tensor.nbytes)


def remembered(tensor, key, make):
    """make(tensor), which depends on the values of a tensor and on what `key` says, made once for the same.

    A version counter would not see every change: a tensor of inference mode has none, and what NumPy, .data or
    another process writes does not count. So the bytes are hashed each time, which takes less than the time of a
    copy. What was made is no tensor of inference mode, since a training may ask next.
    """
    with torch.no_grad():
        key = key, tensor.dtype, tensor.shape, tensor.stride(), _fingerprint(tensor)
    known, made = _made.get(tensor, (None, None))
    if known != key:
        with torch.inference_mode(False), torch.no_grad():
            made = make(tensor)
        _made[tensor] = key, made
    return made
