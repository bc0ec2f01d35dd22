import torch


def aft(q, k, v, w, hidden):
    """Equation 2: in each channel, a softmax over the tokens t' of K_t' + w_tt'."""
    scores = k[:, None] + w[..., None]                          # [B, T, K, C]
    scores = scores.masked_fill(hidden[..., None], -torch.inf)
    p = scores.softmax(dim=2)
    y = (p * v[:, None]).sum(dim=2)                             # [B, T, C]
    return torch.sigmoid(q) * y
