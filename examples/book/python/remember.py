import torch


def remember(memory, inputs, M):
    """The last M inputs of each layer: constants for the next segment."""
    result = []
    for m, h in zip(memory, inputs):
        both = torch.cat([m, h], dim=1)         # [B, M + T, C]
        result.append(both[:, -M:].detach())    # SG: no gradient goes further back
    return result
