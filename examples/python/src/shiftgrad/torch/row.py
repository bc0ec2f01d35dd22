"""A row of the table of attentions that accelerate replaces, and what many rows are made of.

A row says what a module must have, and how the terms of relative_attention are made from the module and a
call of it. The call is a dict of the arguments by their names.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .visibility import added


def is_true(*_):
    return True


def same(module, call):
    return call


def _rows(mask):
    """A mask [B, 1, T, K] or [B, T, K] as [B, T, K], or None."""
    if mask.dim() == 4 and mask.shape[1] == 1:
        return mask[:, 0]
    return mask if mask.dim() == 3 else None


@dataclass(frozen=True)
class Row:
    """How one class of transformers computes its attention."""

    checked: str  # the package, in the versions that it was compared with
    takes: str  # the arguments of its forward that may be given, the input first
    heads: Callable  # (module, call) -> q, k, v [B, H, T, D]
    terms: Callable  # (module, call, T, K) -> the terms of the score and of the values
    scale: Callable  # (module) -> a number
    dropout: Callable  # (module) -> the rate on the probabilities in training, or the torch.nn.Dropout that has it
    result: Callable  # (module, call, y [B, H, T, D], terms) -> what its forward returns
    modules: str = ""  # the attributes that it must have
    tensors: str = ""
    values: str = ""
    method: str = "forward"
    applies: Callable = is_true  # (module) -> whether it has relative positions at all
    fits: Callable = is_true  # (module) -> whether its attributes are what the row wants
    refuses: Callable = lambda module: None  # (module) -> why it is left alone, behind the name of its class, or None
    can: Callable = is_true  # (module, call) -> whether the kernel can compute this call
    # (module, call) -> the scores B·H·T·K of a call, in little time, since all calls are asked for them
    scores: Callable = lambda module, call: scores_of(call["hidden_states"], module.num_heads)
    mask: Callable = lambda module, call: call.get("attention_mask")  # -> a tensor, None, or a dict of options
    rows: Callable = _rows  # (mask) -> the mask as [B, T, K], or None where it is another
    read: Callable = added  # how it is read
    # (module, call, options) -> what hides, as the kernel can compute with it, or None
    agrees: Callable = lambda module, call, options: options
    # (module) -> what a query gives that sees no key: as _unseeing says, or "own" for a call of its own code.
    blind: Callable = lambda module: "own"
    plain: Callable = same  # (module, call) -> the call as the module's own code takes it


@dataclass(frozen=True)
class Host:
    """A module around attentions that gives these what they could not know, or in a form that the kernel takes."""

    computes: Callable  # (module, call, its own method, scores -> whether a call is short) -> what its method returns
    method: str = "forward"
    applies: Callable = is_true  # (class) -> whether it is as in the versions that need it


def scores_of(x, heads):
    """Those of a self-attention on x [B, T, C]."""
    shape = x.shape
    return shape[0] * heads * shape[1] * shape[1]


def full_name(path):
    """The name of a class of the table with all of its package."""
    return path if path.startswith("nemo.") else "transformers.models." + path


def is_accelerated(module):
    return hasattr(type(module), "_names_of_call")


def base(module):
    """The class that an accelerated module's is derived from."""
    return next(kind for kind in type(module).__mro__ if "_names_of_call" in vars(kind)).__mro__[1]


def implementation(module):
    """The way to compute attention that a config of transformers 5 names, or None."""
    return getattr(getattr(module, "config", None), "_attn_implementation", None)


def caches_of(call):
    """The caches of a layer, which transformers names `cache` from 5.24 on."""
    return call.get("cache", call.get("past_key_values"))


def split(x, D):
    return x.unflatten(-1, (-1, D)).transpose(1, 2)  # [B, H, T, D]


def merged(y):
    return y.transpose(1, 2).flatten(2)  # [B, T, H D]


def dense(table, T):
    """A bias by distance [K + T - 1, H] as scores of T queries."""
    return table.unfold(0, len(table) - T + 1, 1).flip(0).permute(1, 0, 2)[None]  # [1, H, T, K]


def projected(q, k, v, D, x="hidden_states"):
    """Heads by three linear layers of these names; D is the name of their width, and x that of the input."""
    def heads(module, call):
        given, width = call[x], getattr(module, D)
        return tuple(split(getattr(module, name)(given), width) for name in (q, k, v))
    return heads


def through(name):
    """The result of a module whose last layer has this name."""
    def result(module, call, y, terms):
        return getattr(module, name)(merged(y)), None
    return result
