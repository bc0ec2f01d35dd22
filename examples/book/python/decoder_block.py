def decoder_block(x, s, mixer, cross_attention, feed_forward, norms):
    """Three parts, each added to what came before. s is what the encoder made."""
    a = x + mixer(norms[0](x))
    b = a + cross_attention(norms[1](a), s)
    y = b + feed_forward(norms[2](b))
    return y
