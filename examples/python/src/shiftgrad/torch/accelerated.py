"""Classes of transformers and NeMo whose attention is computed by the kernel. Pickle finds them here by their names."""

import importlib
import inspect
import sys

import torch

from .attention import relative_attention
from .inputs import cast
from .known_attentions import are_alike, hosts, known
from .remembered import remembered
from .row import full_name, implementation
from .visibility import added, structure, unseen
from .watchers import has_tangents, is_traced

# What a call may be given beside what a row takes, without a change of its result. The last comes from Trainer.
_harmless = (
    "use_cache", "query_length", "cache_position", "return_dict", "output_hidden_states", "num_items_in_batch")

# The least scores B·H·T·K of a call that the kernel computes: for fewer, not every module gains by it. short_inputs.py
# says where no module of its table is slower by more than 1 %; this is the greatest of the CPUs that were tried. It was
# the same with one thread and with two. More threads were not tried, so there it grows with them.
LEAST_SCORES = 9 * 2**16

_low = (torch.bfloat16, torch.float16)

_classes = {}


def accelerated(old, row):
    """The class derived from a class of transformers that computes by the kernel where that can."""
    return _derived(old, row.method, lambda original, names: _method(original, row, names))


def host(old, row):
    """The class derived from one around attentions, which lets them know what they are not told."""
    return _derived(old, row.method, lambda original, names: _around(original, row, names))


def _derived(old, name, make):
    if old not in _classes:
        original = getattr(old, name)
        parameters = inspect.signature(original).parameters.values()
        names = tuple(each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD)[1:]
        method = make(original, names)
        method.__name__, method.__qualname__ = original.__name__, original.__qualname__
        method.__doc__, method.__wrapped__ = original.__doc__, original
        _classes[old] = type(old.__name__, (old,), {
            "__module__": __name__, "__doc__": old.__doc__, name: method, "_names_of_call": frozenset(names),
            "_is_of_transformers_4": old.__module__.startswith("transformers.") and sys.modules[
                "transformers"].__version__.startswith("4."),
        })
    return _classes[old]


def __getattr__(name):
    for make, rows in ((accelerated, known), (host, hosts)):
        for path, row in rows.items():
            module, _, kind = full_name(path).rpartition(".")
            if kind == name:
                return make(getattr(importlib.import_module(module), name), row)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def _around(original, row, names):
    def method(self, *arguments, **named):
        if len(arguments) > len(names):
            return original(self, *arguments, **named)
        return row.computes(self, dict(zip(names, arguments)) | named, original, _is_short)
    return method


def _method(original, row, names):
    takes, first = {*row.takes.split(), *_harmless}, row.takes.split()[0]
    scores, plain = row.scores, row.plain

    def forward(self, *arguments, **named):
        if len(arguments) > len(names):
            return original(self, *arguments, **named)
        call = named  # which is a dict of this call alone, and filled faster than copied
        for name, value in zip(names, arguments):
            call[name] = value
        x = call.get(first)
        # A length that an exported graph leaves open is no reason to guard.
        if isinstance(x, torch.Tensor) and x.dim() > 1 and not _is_exporting() and _is_short(scores(self, call)):
            return original(self, **plain(self, call))
        rate = _dropout_rate(self, row)
        if rate is None or not _is_computable(x, call, takes) or _is_special(self) or not row.can(self, call):
            return original(self, **plain(self, call))
        hidden = _hidden(self, row.mask(self, call), row)
        if hidden is None:
            return original(self, **plain(self, call))
        options, blind = hidden
        options, other = row.agrees(self, call, options), None if blind is None else row.blind(self)
        if other == "own" and not torch.compiler.is_compiling() or options is None:
            return original(self, **plain(self, call))
        q, k, v = row.heads(self, call)
        terms = row.terms(self, call, q.shape[2], k.shape[2])
        options = {"causal": False} | options | {"scale": row.scale(self), "dropout_p": rate}
        y = _attended(q, k, v, terms, options, blind, other)
        return row.result(self, call, y, terms)

    return forward


@torch.compiler.assume_constant_result
def _threads():
    """Torch's threads; a compiled graph keeps the number that it was compiled for."""
    return torch.get_num_threads()


def _is_short(scores):
    return scores < LEAST_SCORES * max(_threads(), 2) // 2


# PyTorch 2.6 does not know it yet.
_is_exporting = getattr(torch.compiler, "is_exporting", lambda: False)


def _is_computable(x, call, takes):
    """Whether a call has nothing but what the row takes, in a precision that the kernel has or that a cast
    makes so, and nothing traces or transforms it but a compiler."""
    if not isinstance(x, torch.Tensor) or not x.is_cpu or x.numel() == 0:
        return False
    if x.dtype not in (torch.float32, torch.float64, *_low):
        return False
    for name, value in call.items():
        if name not in takes and value is not None and value is not False:
            return False
    return torch.compiler.is_compiling() or not (
        has_tangents() or is_traced() or type(x) not in (torch.Tensor, torch.nn.Parameter))


_hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


# The name of the rate in each class of dropout that is computed as torch's.
_rates = {"torch.nn.modules.dropout.Dropout": "p", "transformers.models.sew_d.modeling_sew_d.StableDropout": "drop_prob"}


def _dropout_rate(module, row):
    """The rate at which the kernel drops probabilities as the module's own code would, or None where it cannot:
    where all are dropped, or where their dropout is a module of another class or one with hooks."""
    dropout = row.dropout(module)
    if not isinstance(dropout, torch.nn.Module):
        rate = dropout if module.training else 0.0
    else:
        kind = type(dropout)
        name = _rates.get(f"{kind.__module__}.{kind.__qualname__}")
        if name is None or "forward" in vars(dropout) or any(
                getattr(dropout, each) for each in _hooks) or torch.nn.modules.module._has_any_global_hook():
            return None
        rate = getattr(dropout, name) if dropout.training else 0.0
    return rate if 0 <= rate < 1 else None


def _is_special(module):
    """Whether a model of transformers has chosen another implementation for its attention, or collects the
    probabilities from outside."""
    if implementation(module) not in (None, "eager", "sdpa") or getattr(
            getattr(module, "config", None), "output_attentions", False):
        return True
    capturing = sys.modules.get("transformers.utils.output_capturing")  # of transformers 5
    collector = getattr(capturing, "_active_collector", None)
    if collector is None:
        return False
    if torch.compiler.is_compiling():  # which does not trace a ContextVar; transformers has another place then
        collected = collector.global_var if collector.compiling else None
    else:
        collected = collector.get()
    return collected is not None and ("attentions" in collected or "cross_attentions" in collected)


def _hidden(module, mask, row):
    """What a mask hides, as options of relative_attention, and the queries that see no key [B, T], or None for
    these where there are none. None where the mask cannot be said so.

    The layers of a model share their mask, so what was read is kept.
    """
    if mask is None or isinstance(mask, dict):
        return mask or {}, None
    if not isinstance(mask, torch.Tensor) or not mask.is_cpu or row.rows(mask) is None:
        return None
    if mask.requires_grad and torch.is_grad_enabled():
        return None
    if row.read is added and not mask.is_floating_point():
        # "eager" would add 1 to the scores
        if mask.dtype is not torch.bool or implementation(module) != "sdpa":
            return None
    if torch.compiler.is_compiling():
        return unseen(row.rows(mask), row.read)
    return remembered(mask, (row.read, row.rows), lambda mask: structure(row.rows(mask), row.read))


def _attended(q, k, v, terms, options, blind, other):
    """y [B, H, T, D], where queries that see no key have what `other` says. Heads of 16 bits are computed in floats."""
    dtype = v.dtype
    if dtype in _low:
        q, k, v, terms = cast(q), cast(k), cast(v), {name: cast(each) for name, each in terms.items()}
    y = _attend(q, k, v, terms, options)
    if blind is not None:
        y = torch.where(blind[:, None, :, None], _unseeing(other, q, k, v, terms, options).to(y.dtype), y)
    return y.to(dtype) if dtype in _low else y


def _unseeing(what, q, k, v, terms, options):
    """The output of queries that see no key, as the module's own code has it."""
    if what == "zero":
        return torch.zeros((), dtype=v.dtype, device=v.device)
    mean = v.mean(2, keepdim=True).repeat_interleave(q.shape[1] // v.shape[1], 1)  # [B, H, 1, D]
    if what != "rounded":
        return mean
    # The scores were rounded to one number when the lowest was added to them: the value does not depend on them,
    # but the gradient of softmax does go back through them.
    moment = k.transpose(2, 3) @ (v - mean).detach() * (options["scale"] / k.shape[2])  # [B, H, D, D]
    through = (q + terms["content_bias"][:, None]) @ moment  # [B, H, T, D]
    return mean + through - through.detach()


def _attend(q, k, v, terms, options):
    """y [B, H, T, D]. Members of a batch may each have position_rows of their own, as after dropout on them."""
    rows, B = terms.get("position_rows"), q.shape[0]
    if "key_padding_mask" in options:
        options["key_padding_mask"] = options["key_padding_mask"].expand(B, -1)
    if rows is None or rows.dim() == 3:
        return relative_attention(q, k, v, **terms, **options)
    if are_alike(rows):
        return relative_attention(q, k, v, **terms | {"position_rows": rows[0]}, **options)
    masks, pieces = ("key_padding_mask", "attention_mask"), []
    for b in range(B):
        own = {name: each[b:b + 1] if name in masks and len(each) > 1 else each for name, each in options.items()}
        pieces.append(relative_attention(
            q[b:b + 1], k[b:b + 1], v[b:b + 1], **terms | {"position_rows": rows[b]}, **own))
    return torch.cat(pieces)
