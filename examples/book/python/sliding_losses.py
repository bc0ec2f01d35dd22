import torch
from torch.nn import functional as F


def sliding_losses(model, text, T):
    """The loss of each token but the first, with up to T tokens before it."""
    losses = []
    for n in range(1, len(text)):
        window = text[max(0, n - T) : n]
        logits = model(window)                          # [tokens, V]
        losses.append(F.cross_entropy(logits[-1], text[n]))
    return torch.stack(losses)
