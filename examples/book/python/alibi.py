import torch


def alibi(H, T, K):
    """-slope_h · |δ|, added to the scores that are already divided by √D. H is 2, 4, 8, …"""
    slopes = 2 ** (-8 * torch.arange(1, H + 1) / H)
    i = K - T + torch.arange(T)[:, None]
    j = torch.arange(K)
    return -slopes[:, None, None] * (i - j).abs()           # [H, T, K]
