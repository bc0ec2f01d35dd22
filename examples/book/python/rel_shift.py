import torch


def rel_shift(x):
    """Transformer-XL's: the scores [B, H, T, K] by distance become scores by key."""
    B, H, T, K = x.shape
    zero_pad = torch.zeros(B, H, T, 1, dtype=x.dtype)
    padded = torch.cat([zero_pad, x], dim=-1)               # this copies
    padded = padded.view(B, H, K + 1, T)
    return padded[:, :, 1:].reshape(B, H, T, K)
