"""What a call checks and casts before the library sees it: devices, dtypes, masks, options and autocast."""

import json
import math
import operator
import os

import torch

from shiftgrad import _extension

_precision = "float32"
_default_threads = torch.get_num_threads()


def threads():
    """The number of threads of a call: PyTorch's, unless that is its default, which a container's quota limits.

    PyTorch chooses by the CPUs alone. A number that `torch.set_num_threads` or OMP_NUM_THREADS chose stands.
    """
    number = torch.get_num_threads()
    chosen = number != _default_threads or "OMP_NUM_THREADS" in os.environ
    return number if chosen else min(number, _extension.default_threads)


def set_precision(precision: str) -> None:
    """Chooses how floats are rounded before they are multiplied, in calls from now on.

    "float32", the default, does not round. "bfloat16" does; sums stay float32.
    """
    global _precision
    if not isinstance(precision, str) or precision not in ("float32", "bfloat16"):
        raise ValueError(f'set_precision: precision is {shown(precision)}, expected "float32" or "bfloat16"')
    _precision = precision


def shown(value):
    """A value as an error shows it: on one line, and what is large by its kind."""
    if getattr(value, "shape", ()) != ():
        return f"{type(value).__name__} {list(value.shape)}"
    line = " ".join(repr(value).split())
    return line if len(line) <= 80 else line[:80] + "…"


def plain(value):
    """A config with Python's own numbers in place of those of NumPy and of torch."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(each) for each in value)
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value


def config_text(name, config):
    """A config as JSON. Raises a ValueError at NaN and infinity, and a TypeError at what else JSON cannot write."""
    _check_config(name, config)
    return json.dumps(config)


def _check_config(name, config):
    if not isinstance(config, dict):
        raise TypeError(f"{name}: config is {shown(config)}, expected a dict")
    for key, value in config.items():
        if not isinstance(key, str):
            raise TypeError(f"{name}: a config key is {shown(key)}, expected a str")
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(each, dict):
                _check_config(name, each)
            elif each is not None and not isinstance(each, (str, int, float)):
                raise TypeError(f'{name}: config key "{key}" is {shown(value)}, expected a str, a number, a bool or a dict')
            elif isinstance(each, float) and not math.isfinite(each):
                raise ValueError(f'{name}: config key "{key}" is {value}, expected a finite number')


def check_name(name):
    """Raises a TypeError unless it may be the name of a layer."""
    if not isinstance(name, str):
        raise TypeError(f"layer: name is {shown(name)}, expected the name of a layer")


def flag(operation, name, value):
    """Returns a bool. Raises a TypeError at anything else, such as "no", which Python takes for true."""
    if value is not True and value is not False:
        value = plain(value)
        if not isinstance(value, bool):
            raise TypeError(f"{operation}: {name} is {shown(value)}, expected True or False")
    return value


def number(operation, name, value):
    """Returns a float. Raises a TypeError at what is no number: a text, a bool, or a tensor whose gradient would be lost."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        given = None if getattr(value, "requires_grad", False) else plain(value)
        if isinstance(given, bool) or getattr(given, "shape", ()) != () or not hasattr(given, "__float__"):
            raise TypeError(f"{operation}: {name} is {shown(value)}, expected a number")
        value = given
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{operation}: {name} is {shown(value)}, expected a number that a float can have") from None


def finite_number(operation, name, value):
    """Returns a float. Raises a ValueError at NaN and infinity."""
    value = number(operation, name, value)
    if not abs(value) < math.inf:
        raise ValueError(f"{operation}: {name} is {value}, expected a finite number")
    return value


def whole_number(operation, name, value):
    """Returns an int. Raises a TypeError at what is no whole number, such as 2.5, and at 2.0 and True as well."""
    if not isinstance(value, bool) and getattr(value, "dtype", None) is not torch.bool:
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{operation}: {name} is {shown(value)}, expected a whole number")


def count(operation, name, value, most=2**63 - 1):
    """Returns a whole number from 0 to `most`. Raises a ValueError at any other."""
    number = whole_number(operation, name, value)
    if not 0 <= number <= most:
        raise ValueError(f"{operation}: {name} is {number}, expected 0 to {most}")
    return number


def path(operation, name, value):
    """Returns the bytes of a path. Raises a TypeError at what is none, and a ValueError at one that can name no file."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{operation}: {name} is {shown(value)}, expected a path")
    encoded = os.fsencode(value)
    if not encoded or b"\0" in encoded:
        raise ValueError(f"{operation}: {name} is {shown(value)}, expected a path of one character or more, none of them NUL")
    return encoded


def autocast():
    """The dtype that torch.autocast gives to the outputs of matrix products now, or None."""
    return torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None


def precision():
    """The precision of a call that begins now."""
    return "bfloat16" if autocast() is torch.bfloat16 else _precision


def cast(tensor):
    """A tensor as the library takes it under autocast, as matrix products cast theirs."""
    if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point() or tensor.dtype is torch.float64:
        return tensor
    return tensor.float()


def check(operation, names, tensors, required=1):
    """Raises a TypeError unless all tensors are float32, or all float64, and on the CPU. Those behind the `required`
    first ones may be None."""
    if not tensors:
        raise TypeError(f"{operation}: no tensors, expected at least {required}")
    dtype = getattr(tensors[0], "dtype", None)
    for n, tensor in enumerate(tensors):
        if tensor is None and n >= required:
            continue
        name = names[n]
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
    if mask.layout is not torch.strided:
        raise TypeError(f"{operation}: {name} is {mask.layout}, expected torch.strided")
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
