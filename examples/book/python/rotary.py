import torch


def rotary(x, positions):
    """Turns each pair (n, n + D/2) of the channels [..., T, D] by the angle p·θ_n."""
    D = x.shape[-1]
    theta = 10000 ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a = positions[:, None] * theta                          # [T, D / 2]
    lo, hi = x.chunk(2, dim=-1)
    return torch.cat([lo * a.cos() - hi * a.sin(), hi * a.cos() + lo * a.sin()], dim=-1)
