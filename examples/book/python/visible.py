import torch


def visible(T, M, left, right, chunk, left_chunks):
    """Which of M + T keys each of T queries may read: no future, a window, and chunks."""
    i = M + torch.arange(T)[:, None]
    j = torch.arange(M + T)
    causal = j <= i
    window = (i - left <= j) & (j <= i + right)
    between = i // chunk - j // chunk       # chunks from the query back to the key
    return causal & window & (0 <= between) & (between <= left_chunks)
