def r_transformer_block(x, parts):
    """parts: (function, w, b) of the local net, of attention and of the feed-forward net."""

    def norm(x, w, b):
        centred = x - x.mean(dim=-1, keepdim=True)
        return w * centred / (x.std(dim=-1, keepdim=True) + 1e-6) + b

    for function, w, b in parts:
        x = x + function(norm(x, w, b))
    return x
