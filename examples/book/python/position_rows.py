import torch


def position_rows(K, W_kR, n_head):
    """r_δ = W_kR R_δ for the distances K - 1 … 0."""
    C = W_kR.shape[1]
    delta = torch.arange(K - 1, -1, -1, dtype=W_kR.dtype)
    f = 10000 ** (-torch.arange(0, C, 2, dtype=W_kR.dtype) / C)
    angles = delta[:, None] * f                             # [K, C / 2]
    R = torch.cat([angles.sin(), angles.cos()], dim=1)
    return (R @ W_kR.T).reshape(K, n_head, -1)              # [K, H, D]
