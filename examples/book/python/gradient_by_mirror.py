import torch


def gradient_by_mirror(x, view, dy):
    """The gradient of x, where y = view(x) and dy is y's: no backward code for any view."""
    mirror = torch.zeros_like(x)
    dx = view(mirror)       # the same view of a second buffer
    dx += dy
    return mirror
