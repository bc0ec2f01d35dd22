def softmax_gradient(p, dp):
    """The gradient of the scores from that of the weights, row by row."""
    mean = (p * dp).sum(dim=-1, keepdim=True)
    ds = p * (dp - mean)
    return ds
