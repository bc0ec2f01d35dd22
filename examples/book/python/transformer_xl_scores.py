import torch


def transformer_xl_scores(q, k, u, v, r):
    """r [K, H, D] has a row for each distance, K - 1 first and 0 last."""
    T, K = q.shape[2], k.shape[2]
    delta = K - T + torch.arange(T)[:, None] - torch.arange(K)
    R = r[K - 1 - delta.clamp(min=0)]                       # [T, K, H, D]
    a = torch.einsum("bhid,bhjd->bhij", q, k)               # (a) q_i·k_j
    b = torch.einsum("bhid,ijhd->bhij", q, R)               # (b) q_i·r_δ
    c = torch.einsum("hd,bhjd->bhj", u, k)[:, :, None]      # (c) u·k_j
    d = torch.einsum("hd,ijhd->hij", v, R)                  # (d) v·r_δ
    return (a + b + c + d) / q.shape[-1] ** 0.5
