import torch


def rows_by_distance(E, F, T, K):
    """E_{K-1} … E_0, then F_1 … F_{T-1}. Both tables [H, max_seq, D] end with distance 0."""
    behind = E[:, -K:]
    ahead = F.flip(dims=[1])[:, 1:T]        # without F_0
    rows = torch.cat([behind, ahead], dim=1)
    return rows                             # [H, K + T - 1, D]
