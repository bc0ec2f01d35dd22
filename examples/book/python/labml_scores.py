import torch


def labml_scores(q, k, u, R, S):
    """labml's four terms, with one row of R and of S for each pair, picked by its distance."""
    T, K, P = q.shape[2], k.shape[2], len(S) // 2
    delta = K - T + torch.arange(T)[:, None] - torch.arange(K)
    A = torch.einsum("bhid,bhjd->bhij", q, k)               # (A) q_i·k_j
    B = torch.einsum("bhid,ijhd->bhij", q, R[P - delta])    # (B) q_i·R_{P-δ}
    C = torch.einsum("hd,bhjd->bhj", u, k)[:, :, None]      # (C) u·k_j
    D = S[P - delta].permute(2, 0, 1)                       # (D) S_{P-δ}
    return (A + B + C + D) / q.shape[-1] ** 0.5
