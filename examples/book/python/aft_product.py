import torch


def aft_product(q, k, v, w, hidden):
    """The same as one product of matrices, since exp(w + k) is exp(w) times exp(k)."""
    W = w.exp().masked_fill(hidden, 0)                          # [T, K]
    B = (k - k[:, :1]).exp()        # less the first key, which every query sees
    A = B * v                                                   # [B, K, C]
    WA, WB = (W @ torch.cat([A, B], dim=2)).chunk(2, dim=2)
    return torch.sigmoid(q) * WA / WB                           # [B, T, C]
