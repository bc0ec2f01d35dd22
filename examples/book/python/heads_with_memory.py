import torch


def heads_with_memory(x, memory, W_q, W_k, W_v):
    """Queries come from the new tokens, keys and values from both."""
    both = torch.cat([memory, x], dim=1)    # [B, M + T, C]
    q = x @ W_q.T
    k = both @ W_k.T
    v = both @ W_v.T
    return q, k, v
