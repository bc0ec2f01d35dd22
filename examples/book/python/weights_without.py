import torch


def weights_without(terms, without):
    """The weights of attention when some terms, given by name, are left out of its score."""
    score = sum(term for name, term in terms.items() if name not in without)
    T = score.shape[-1]
    future = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)
    return score.masked_fill(future, -torch.inf).softmax(dim=-1)
