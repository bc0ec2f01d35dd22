"""Attention of the models of Hugging Face's transformers, computed by this package's kernel."""

import warnings

import torch

from .accelerated import accelerated
from .known_attentions import known


def accelerate(model: torch.nn.Module) -> list[tuple[str, type[torch.nn.Module]]]:
    """Replaces in place each attention of a model of transformers that the kernel knows.

    Returns the list of (name, class) of the modules replaced, in the model's order. These are then of a
    class derived from their own, with the same name. Parameters, hooks, state_dict, save_pretrained, copies,
    train and eval, dropout, caches and torch.compile stay as they are; outputs and gradients stay the same to
    rounding, in memory linear in the length. Modules that no row of known_attentions.py names are left alone;
    one that is named and has not the attributes that its row says is left alone with a warning. A call that
    the kernel cannot compute, such as one with a head mask, output_attentions, a mask that is no mask or a
    dtype other than float32 and float64, is computed by the module's own code.

    Raises a TypeError if `model` is no torch.nn.Module. If it raises, nothing in the model has changed.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"accelerate: model is {type(model).__name__}, expected a torch.nn.Module")
    found = []
    for name, module in model.named_modules():
        row = known.get(_path(type(module)))
        if row is None or not row.applies(module):
            continue
        complaint = _complaint(module, row)
        if complaint is None:
            found.append((name, module, type(module), accelerated(type(module), row)))
        else:
            warnings.warn(f"accelerate: {name or 'the model'} is left alone: {complaint}", stacklevel=2)
    shadows = [vars(module).get(known[_path(old)].method) for _, module, old, _ in found]
    try:
        for _, module, old, new in found:
            vars(module).pop(known[_path(old)].method, None)
            module.__class__ = new
    except BaseException:
        for (_, module, old, _), shadow in zip(found, shadows):
            module.__class__ = old
            if shadow is not None:
                vars(module)[known[_path(old)].method] = shadow
        raise
    return [(name, old) for name, _, old, _ in found]


def _path(kind):
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("transformers.models.")


def _complaint(module, row):
    """Why a module is not what its row says, or None."""
    kind = type(module).__name__
    for names, expected in ((row.modules, torch.nn.Module), (row.tensors, torch.Tensor), (row.values, object)):
        for name in names.split():
            if not hasattr(module, name):
                return f"{kind} has no {name}, as transformers {row.checked} has"
            if not isinstance(getattr(module, name), expected):
                return f"{kind}.{name} is no {expected.__name__}, as in transformers {row.checked}"
    shadow = vars(module).get(row.method)
    if shadow is not None and getattr(shadow, "__func__", None) is not getattr(type(module), row.method):
        return f"{kind} has a {row.method} of its own"
    if not row.fits(module):
        return f"{kind} is not built as in transformers {row.checked}"
    return None
