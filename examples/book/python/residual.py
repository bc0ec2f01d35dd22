def residual(x, attention, feed_forward, norms):
    """A layer: each part reads the stream through its norm, and adds to it."""
    for part, norm in zip([attention, feed_forward], norms):
        y = part(norm(x))
        x = x + y
    return x
