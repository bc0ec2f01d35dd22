import torch


def first_writer(gradient, part, A, B):
    """Writes A @ B as the first gradient that comes to this part of a new buffer."""
    beta = 0
    if part.numel() < gradient.numel():     # the rest has to be zero
        gradient.zero_()
        beta = 1
    return torch.addmm(part, A, B, beta=beta, out=part)
