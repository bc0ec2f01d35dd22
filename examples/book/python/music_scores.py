import torch


def music_scores(q, k, E, s):
    """E [H, L, D] and s [H, L], the farthest of L distances first; skewed into place."""
    B, H, L, D = q.shape
    by_distance = q @ E.transpose(1, 2) + s[:, None]        # q_i·E_δ + s_δ
    padded = torch.nn.functional.pad(by_distance, (1, 0))   # [B, H, L, L + 1]
    S_rel = padded.reshape(B, H, L + 1, L)[:, :, 1:]        # skew
    return (q @ k.transpose(-1, -2) + S_rel) / D**0.5       # with q_i·k_j
