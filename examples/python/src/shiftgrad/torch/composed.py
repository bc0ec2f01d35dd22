"""relative_attention as its equation says, of PyTorch's own operators: for derivatives that the kernel lacks."""

import json

import torch


def _places(T, K, device):
    """Where the queries [T, 1] and the keys [K] stand."""
    return torch.arange(K - T, K, device=device)[:, None], torch.arange(K, device=device)


def _row_of_distance(table, T, K):
    """The rows [T, K, ...] of a table by distance, which begins at K - 1. What is hidden may lie beyond it."""
    at, j = _places(T, K, table.device)
    return table[(K - 1 - at + j).clamp(max=len(table) - 1)]


def _clipped_row(table, T, K):
    (at, j), m = _places(T, K, table.device), len(table) // 2
    return table[(j - at).clamp(-m, m) + m]


def _hidden(T, K, device, options, spans, key_padding_mask, attention_mask):
    """What is hidden, as [T, K] or [1 or B, T, K]."""
    at, j = _places(T, K, device)
    hidden = torch.zeros(T, K, dtype=torch.bool, device=device)
    if (window := options.get("window")) is not None:
        left, right = window if isinstance(window, list) else (window - 1, window - 1)
        hidden = hidden | (at - j > left) | (j - at > right)
    if (chunk := options.get("chunk")) is not None:
        ahead = at // chunk[0] - j // chunk[0]
        hidden = hidden | (ahead < 0) | (ahead > chunk[1])
    hidden = hidden & (j >= options.get("always", 0))
    if options.get("causal", True):
        hidden = hidden | (at < j)
    if spans is not None:
        hidden = hidden | (j < spans[..., :1]) | (j >= spans[..., 1:])
    if key_padding_mask is not None:
        hidden = hidden | key_padding_mask[:, None]
    return hidden if attention_mask is None else hidden | attention_mask


def composed(tensors, key_padding_mask, attention_mask, config, kept=None):
    """y [B, H, T, E] of the tensors of relative_attention, in its order, with a config as JSON.

    `kept` [B, H, T, K] are the factors of dropout on the probabilities, or None. Time and memory grow with T · K.
    """
    (q, k, v, content_bias, position_bias, rows, queries, scores, clipped_keys, clipped_values, key_scores,
     sink, spans) = tensors
    options, T, K = json.loads(config), q.shape[2], k.shape[2]
    if k.shape[1] != q.shape[1]:
        k, v = (each.repeat_interleave(q.shape[1] // k.shape[1], 1) for each in (k, v))
    biased = lambda bias: q if bias is None else q + bias[:, None]
    score = biased(content_bias) @ k.transpose(2, 3)  # [B, H, T, K]
    if rows is not None:
        score = score + (biased(position_bias)[..., None, :] * _by_head(_row_of_distance(rows, T, K))).sum(-1)
    if clipped_keys is not None:
        score = score + (biased(position_bias)[..., None, :] * _by_head(_clipped_row(clipped_keys, T, K))).sum(-1)
    if queries is not None:
        score = score + (k[:, :, None] * _by_head(_row_of_distance(queries, T, K))).sum(-1)
    if scores is not None:
        score = score + _row_of_distance(scores, T, K).permute(2, 0, 1)
    if key_scores is not None:
        score = score + key_scores[:, :, None]
    hidden = _hidden(T, K, q.device, options, spans, key_padding_mask, attention_mask)
    hidden = hidden if hidden.dim() == 2 else hidden[:, None]
    scale = options.get("scale", q.shape[3] ** -0.5)
    # The lowest number in place of -inf, which would make NaN of a row that sees nothing.
    score = score * scale
    if (cap := options.get("soft_cap")) is not None:
        score = cap * (score / cap).tanh()
    logits = score.masked_fill(hidden, torch.finfo(q.dtype).min)
    if sink is not None:
        logits = torch.cat([logits, sink[:, None, None].expand(*logits.shape[:3], 1)], -1)  # [B, H, T, K + 1]
    p = logits.softmax(-1)[..., :K].masked_fill(hidden, 0)
    p = p if kept is None else p * kept
    y = p @ v
    if clipped_values is not None:
        y = y + (p[..., None] * _by_head(_clipped_row(clipped_values, T, K))).sum(3)
    return y


def _by_head(rows):
    return rows.permute(2, 0, 1, 3)  # [H or 1, T, K, D]


def derivatives(gradient, tensors, wanted, *call, create_graph):
    """The gradients of the wanted tensors, given that of y, and the tensors and the gradient as they stand in them.

    Each tensor stands for itself, though PyTorch may have computed it from another one.
    """
    with torch.enable_grad():
        alias = lambda x: x.view_as(x) if x is not None and x.requires_grad else x
        gradient, tensors = alias(gradient), [alias(each) for each in tensors]
        y = composed(tensors, *call)
        inputs = [each for each, want in zip(tensors, wanted) if want]
        return torch.autograd.grad(
            y, inputs, gradient, create_graph=create_graph, materialize_grads=True), gradient, tensors
