import torch


def loss_gradient(logits, targets):
    """∂L/∂z of F.cross_entropy(logits, targets): p, less 1 for the token that came."""
    N = len(targets)
    p = logits.softmax(dim=-1)              # [N, V]
    p[torch.arange(N), targets] -= 1
    return p / N
