def clipped_scores(q, k, a, c):
    """c [T, K] has the row of each pair. No tensor has a vector for each pair."""
    G = q @ a.T                                             # [B, H, T, 2m + 1]
    by_clipped = G.gather(-1, c.expand(*q.shape[:2], *c.shape))     # q_i·a_c
    scores = q @ k.transpose(-1, -2)                        # q_i·k_j
    return scores + by_clipped                              # [B, H, T, K]
