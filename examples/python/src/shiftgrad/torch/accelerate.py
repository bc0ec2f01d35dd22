"""Attention of the models of Hugging Face's transformers and of NeMo, computed by this package's kernel."""

import sys
import warnings

import torch
from torch.nn.utils import parametrize

from .accelerated import accelerated, host
from .known_attentions import hosts, known
from .row import base, is_accelerated


def accelerate(model: torch.nn.Module) -> list[tuple[str, type[torch.nn.Module]]]:
    """Replaces in place each attention of a model of transformers or NeMo that the kernel knows.

    Returns the list of (name, class) of the modules replaced, in the model's order. These are then of a
    class derived from their own, with the same name. Parameters, hooks, state_dict, save_pretrained, copies,
    train and eval, dropout, caches and torch.compile stay as they are; outputs and gradients stay the same to
    rounding, in memory linear in the length. Modules that no row of known_attentions.py names are left alone;
    one that is named and has not the attributes that its row says is left alone with a warning, and so are one of a
    class derived from a named one, as fully_shard makes them, and a model without any of them. A call that the kernel cannot compute, such as one with a head mask,
    output_attentions or a mask that is no mask, is computed by the module's own code. Heads in bfloat16 or
    float16 are computed in floats, and rounded at the end. A hook on an attention that returned its weights
    unasked, as "eager" ones do, sees None in their place.

    Raises a TypeError if `model` is no torch.nn.Module. If it raises, nothing in the model has changed.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"accelerate: model is {type(model).__name__}, expected a torch.nn.Module")
    found, complaints, derived = [], [], {}
    for name, module in model.named_modules():
        kind = type(module)
        row = known.get(_path(kind))
        if row is not None and row.applies(module):
            complaint = _complaint(module, row)
            if complaint is None:
                found.append((name, module, kind, accelerated(kind, row), row.method))
            else:
                complaints.append(f"{name or 'the model'} is left alone: {complaint}")
        elif row is None and (known_base := _known_base(module)) is not None:
            derived.setdefault((kind, known_base), []).append((name, module))
        elif _is_host(module):
            found.append((name, module, kind, host(kind, hosts[_path(kind)]), hosts[_path(kind)].method))
    complaints += [_why_derived(known_base, modules) for (_, known_base), modules in derived.items()]
    if not found and not complaints and not any(map(is_accelerated, model.modules())):
        looked_for = ", ".join(path.rpartition(".")[2] for path in known)
        complaints.append(f"{type(model).__name__} has no attention with relative positions that the kernel knows, "
                          f"so nothing is replaced; looked for {looked_for}")
    for complaint in complaints:
        warnings.warn(f"accelerate: {complaint}", stacklevel=2)
    shadows = [vars(module).get(method) for _, module, _, _, method in found]
    try:
        for _, module, _, new, method in found:
            vars(module).pop(method, None)
            module.__class__ = new
    except BaseException:
        for (_, module, old, _, method), shadow in zip(found, shadows):
            module.__class__ = old
            if shadow is not None:
                vars(module)[method] = shadow
        raise
    return [(name, old) for name, _, old, _, _ in found if _path(old) in known]


def restore(model: torch.nn.Module) -> list[tuple[str, type[torch.nn.Module]]]:
    """Gives each module that `accelerate` has replaced its own class back, in place.

    Returns the list of (name, class) of the attentions among them. What pickle or torch.save writes of the whole
    model then needs this package no more where it is read; a state_dict and save_pretrained never do. Raises a
    ValueError, before anything is changed, where another library has put a class of its own upon that of `accelerate`,
    as a parametrization does, which can be removed, and fully_shard, which cannot.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"restore: model is {type(model).__name__}, expected a torch.nn.Module")
    found = [(name, module) for name, module in model.named_modules() if is_accelerated(module)]
    for name, module in found:
        if "_names_of_call" not in vars(type(module)):
            raise ValueError(f"restore: {name or 'the model'} is a {type(module).__name__} made of the accelerated "
                             f"{base(module).__name__}, expected that one; {_way_back(module)}")
    restored = []
    for name, module in found:
        module.__class__ = base(module)
        restored.append((name, type(module)))
    return [(name, kind) for name, kind in restored if _path(kind) in known]


def _is_sharded(module):
    fsdp = sys.modules.get("torch.distributed.fsdp")
    return fsdp is not None and isinstance(module, getattr(fsdp, "FSDPModule", ()))


def _way_back(module):
    """What to do about the class that another library has put upon that of `accelerate`."""
    if _is_sharded(module):
        return "fully_shard cannot be undone, so call restore before it"
    if parametrize.is_parametrized(module):
        return "remove its parametrization first"
    return "undo first what made it"


def _known_base(module):
    """The class of the tables that another library has derived a module's from, or None."""
    for kind in () if is_accelerated(module) else type(module).__mro__[1:]:
        row = known.get(_path(kind))
        if row is not None and row.applies(module) or _is_host_class(kind):
            return kind
    return None


def _why_derived(known_base, modules):
    """Why modules of one class that is derived from a known one are left alone."""
    (_, first), names = modules[0], [name or "the model" for name, _ in modules]
    called = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    why = "; call accelerate before fully_shard, which cannot be undone" if _is_sharded(first) else (
        "; remove its parametrization first" if parametrize.is_parametrized(first) else " and may compute otherwise")
    return (f"{called} {'is' if len(names) == 1 else 'are'} left alone: {type(first).__name__} is derived from "
            f"{known_base.__name__}{why}")


def _is_host(module):
    """Whether a module has to let the attentions in it know what these are not told."""
    kind = type(module)
    return _is_host_class(kind) and hosts[_path(kind)].method not in vars(module)


def _is_host_class(kind):
    row = hosts.get(_path(kind))
    return row is not None and row.applies(kind)


def _path(kind):
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("transformers.models.")


def _complaint(module, row):
    """Why a module is not what its row says, or None."""
    kind = type(module).__name__
    for names, expected in ((row.modules, torch.nn.Module), (row.tensors, torch.Tensor), (row.values, object)):
        for name in names.split():
            if not hasattr(module, name):
                return f"{kind} has no {name}, as {row.checked} has"
            if not isinstance(getattr(module, name), expected):
                return f"{kind}.{name} is no {expected.__name__}, as in {row.checked}"
    shadow = vars(module).get(row.method)
    if shadow is not None and getattr(shadow, "__func__", None) is not getattr(type(module), row.method):
        return f"{kind} has a {row.method} of its own"
    if not row.fits(module):
        return f"{kind} is not built as in {row.checked}"
    reason = row.refuses(module)
    return None if reason is None else f"{kind} {reason}"
