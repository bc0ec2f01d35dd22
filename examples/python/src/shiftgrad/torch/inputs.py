"""What a call checks and casts before the library sees it: devices, dtypes, masks and autocast."""

import json
import math
import operator

import torch

_precision = "float32"


def set_precision(precision: str) -> None:
    """Chooses how floats are rounded before they are multiplied, in calls from now on.

    "float32", the default, does not round. "bfloat16" does; sums stay float32.
    """
    global _precision
    if precision not in ("float32", "bfloat16"):
        raise ValueError(f'set_precision: "{precision}", expected float32 or bfloat16')
    _precision = precision


def plain(value):
    """A config with Python's own numbers in place of those of NumPy and of torch."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(each) for each in value)
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value


def config_text(name, config):
    """A config as JSON. Raises a ValueError at a number that JSON cannot write: NaN or infinity."""
    for key, value in config.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f'{name}: config key "{key}" is {value}, expected a finite number')
        if isinstance(value, dict):
            config_text(name, value)
    return json.dumps(config)


def whole_number(operation, name, value):
    """Returns an int. Raises a TypeError at what is no whole number, such as 2.5, and at 2.0 as well."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{operation}: {name} is {value!r}, expected a whole number") from None


def count(operation, name, value, most=2**63 - 1):
    """Returns a whole number from 0 to `most`. Raises a ValueError at any other."""
    number = whole_number(operation, name, value)
    if not 0 <= number <= most:
        raise ValueError(f"{operation}: {name} is {number}, expected 0 to {most}")
    return number


def autocast():
    """The dtype that torch.autocast gives to the outputs of matrix products now, or None."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None


def precision():
    """The precision of a call that begins now."""
    return "bfloat16" if autocast() is torch.bfloat16 else _precision


def cast(tensor):
    """A tensor as the library takes it under autocast, as matrix products cast theirs."""
    if tensor is None or not tensor.is_floating_point() or tensor.dtype is torch.float64:
        return tensor
    return tensor.float()


def check(operation, names, tensors):
    """Raises a TypeError unless all tensors are float32, or all float64, and on the CPU."""
    if not tensors or not isinstance(tensors[0], torch.Tensor):
        raise TypeError(f"{operation}: {names[0] if names else 'the first'} is no torch.Tensor")
    dtype = tensors[0].dtype
    for name, tensor in zip(names, tensors):
        if tensor is None:
            continue
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{operation}: {name} is {type(tensor).__name__}, expected a torch.Tensor")
        if tensor.dtype is not torch.float32 and tensor.dtype is not torch.float64:
            raise TypeError(f"{operation}: {name} is {tensor.dtype}, expected torch.float32 or torch.float64")
        if tensor.dtype is not dtype:
            raise TypeError(f"{operation}: {name} is {tensor.dtype}, but {names[0]} is {dtype}")
        if not tensor.is_cpu or tensor.layout is not torch.strided:
            raise TypeError(f"{operation}: {name} is {tensor.layout} on {tensor.device}, "
                            "expected torch.strided on cpu")


def check_mask(operation, name, mask):
    """Returns the mask. Raises a TypeError unless it is of bools on the CPU."""
    if mask is None:
        return None
    if not isinstance(mask, torch.Tensor):
        raise TypeError(f"{operation}: {name} is {type(mask).__name__}, expected a torch.Tensor")
    if mask.dtype is not torch.bool:
        raise TypeError(f"{operation}: {name} is {mask.dtype}, expected torch.bool, true = hidden")
    if not mask.is_cpu:
        raise TypeError(f"{operation}: {name} is on {mask.device}, expected cpu")
    return mask


def check_padding(operation, mask, x):
    """Returns the key_padding_mask of a call on x, one row for all of its batch or for each member."""
    check_mask(operation, "key_padding_mask", mask)
    if mask is None or mask.dim() != 2 or mask.shape[0] != 1 or not x.dim():
        return mask
    return mask.expand(x.shape[0], -1)


def check_seed(operation, seed):
    """Raises a TypeError unless it is what draw_seed gives, or None."""
    if seed is not None and (seed.dtype is not torch.int64 or seed.numel() != 1 or seed.item() < 0):
        raise TypeError(f"{operation}: the seed is {seed}, expected one torch.int64, at least 0")


def draw_seed():
    """A seed for dropout, from torch's own generator: an operator gets it as a tensor."""
    return torch.randint(2**62, (), dtype=torch.int64, device="cpu")
