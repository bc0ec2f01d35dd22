import torch


def attention_weights(q, k, hidden):
    """The softmax of Q Kᵀ / √d_k. `hidden` is true where a query may not look."""
    d_k = q.shape[-1]
    scores = q @ k.transpose(-1, -2) / d_k**0.5     # q_i·k_j [B, H, T, K]
    scores = scores.masked_fill(hidden, -torch.inf)
    p = scores.softmax(dim=-1)
    return p.masked_fill(hidden, 0)     # a query that sees nothing: 0, not NaN
