"""Attention with relative positions as a function."""

import math

import torch

from . import inputs
from .operator import call

_names = ("q", "k", "v", "content_bias", "position_bias", "position_rows", "position_queries",
          "position_scores", "clipped_keys", "clipped_values", "key_scores", "sink", "spans")


def _number(key, value):
    """A number as JSON, which has no NaN and no infinity."""
    if type(value) is not float or not abs(value) < math.inf:
        value = inputs.finite_number("relative_attention", key, value)
    return f'"{key}": {value!r}'


def _whole(key, value):
    """A whole number, or several in a list, as JSON."""
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join([str(inputs.whole_number("relative_attention", key, each)) for each in value]) + "]"
    return str(inputs.whole_number("relative_attention", key, value))


def _config(scale, causal, window, chunk, always, soft_cap, dropout_p):
    """The options as JSON, without the module json, which torch.compile does not trace."""
    if causal is not True and causal is not False:
        causal = inputs.flag("relative_attention", "causal", causal)
    options = ['"causal": true' if causal else '"causal": false', _number("dropout_p", dropout_p)]
    if not 0 <= dropout_p < 1:
        raise ValueError(f"relative_attention: dropout_p is {dropout_p}, expected 0 to below 1")
    if scale is not None:
        options.append(_number("scale", scale))
    if window is not None:
        options.append(f'"window": {_whole("window", window)}')
    if chunk is not None:
        options.append(f'"chunk": {_whole("chunk", chunk)}')
    if always is not None:
        options.append(f'"always": {_whole("always", always)}')
    if soft_cap is not None:
        options.append(_number("soft_cap", soft_cap))
    return "{" + ", ".join(options) + "}"


def _spans(spans, q, k):
    """Spans as the operator takes them: in the dtype of q, which has whole numbers up to 2^24 at least."""
    if not isinstance(spans, torch.Tensor):
        raise TypeError(f"relative_attention: spans is {type(spans).__name__}, expected a torch.Tensor")
    if spans.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"relative_attention: spans is {spans.dtype}, expected torch.int32 or torch.int64")
    if not isinstance(q, torch.Tensor):
        return spans
    if q.dtype is torch.float32 and isinstance(k, torch.Tensor) and k.dim() == 4 and k.shape[2] > 2**24:
        raise ValueError(f"relative_attention: spans of {k.shape[2]} keys, expected at most {2**24} in torch.float32")
    return spans.to(q.dtype)


def relative_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, content_bias: torch.Tensor | None = None,
    position_bias: torch.Tensor | None = None, position_rows: torch.Tensor | None = None,
    position_queries: torch.Tensor | None = None, position_scores: torch.Tensor | None = None,
    clipped_keys: torch.Tensor | None = None, clipped_values: torch.Tensor | None = None,
    key_scores: torch.Tensor | None = None, sink: torch.Tensor | None = None,
    scale: float | None = None, causal: bool = True, window: int | tuple[int, int] | None = None,
    chunk: tuple[int, int] | None = None, always: int | None = None, spans: torch.Tensor | None = None,
    soft_cap: float | None = None, key_padding_mask: torch.Tensor | None = None,
    attention_mask: torch.Tensor | None = None, dropout_p: float = 0.0,
) -> torch.Tensor:
    """Returns y [B, H, T, E] in memory linear in T. Terms that are None are left out.

    The T queries stand behind K - T earlier keys, at the distance δ = K - T + i - j; with 2m + 1 clipped
    rows, c = clip(-δ, -m, m) + m.

        score_ij = scale · ( (q_i + content_bias) · k_j
                             + (q_i + position_bias) · (position_rows[δ] + clipped_keys[c])
                             + k_j · position_queries[δ] + position_scores[δ] + key_scores_j )
        y_i      = Σ_j softmax_j(score_ij) (v_j + clipped_values[c])

    q is [B, H, T, D], k [B, G, K, D] and v [B, G, K, E], where G divides H: each group of H / G heads
    shares keys and values (grouped queries). The biases are [H, D]. position_rows and
    position_queries [n, H or 1, D] and position_scores [n, H] have a row for each distance from K - 1 down:
    n is K, or K + T - 1 if not causal. Clipped tables are [2m + 1, H or 1, D], and E wide for values.
    key_scores [B, H or 1, K] are scores of the keys alone, such as a forgetting transformer's. sink [H] is one more logit in each softmax,
    after the scale and without a value (gpt-oss). scale is 1/√D unless given. With a soft_cap c, each score
    s becomes c tanh(s / c) before the softmax (Gemma 2).
    A window hides keys with |δ| ≥ window, and a window (left, right) all but those with -right ≤ δ ≤ left.
    chunk, (size, left_chunks), cuts the keys into chunks of that size, from the first key on: a query sees
    its own chunk and left_chunks before it. always is how many of the first keys neither a window nor
    chunks hide. spans [B or 1, T, 2], of torch.int32 or int64, are the first key that a query may see, and the
    one behind its last: documents in one row, prefixes, windows of any form. key_padding_mask [B or 1, K]
    and attention_mask [T, K] or [B or 1, T, K] are true where hidden. A query that sees no key gives 0. Time and memory of what a window,
    chunks or spans hide are saved. Derivatives beyond the first are computed with memory of [B, H, T, K].
    """
    tensors = [q, k, v, content_bias, position_bias, position_rows, position_queries, position_scores,
               clipped_keys, clipped_values, key_scores, sink]
    cast_to = inputs.autocast()
    if cast_to is not None and getattr(q, "dtype", None) is torch.float64:
        cast_to = None
    if cast_to is not None:
        tensors = [inputs.cast(tensor) for tensor in tensors]
    tensors.append(None if spans is None else _spans(spans, tensors[0], tensors[1]))
    inputs.check("relative_attention", _names, tensors, 3)
    masks = (inputs.check_padding("relative_attention", key_padding_mask, q),
             inputs.check_mask("relative_attention", "attention_mask", attention_mask))
    config = _config(scale, causal, window, chunk, always, soft_cap, dropout_p)
    seed = inputs.draw_seed() if dropout_p else None
    y = call(tensors, *masks, seed, "relative_attention", config, inputs.precision())
    return y if cast_to is None else y.to(cast_to)
