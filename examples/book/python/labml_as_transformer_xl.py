def labml_as_transformer_xl(labml, n):
    """Parameters of Transformer-XL with n learned distances, the farthest first."""
    P = len(labml["key_pos_bias"]) // 2             # the row of the distance 0
    past = slice(P - (n - 1), P + 1)
    return {
        "qkv.weight": labml["qkv.weight"],
        "output.weight": labml["output.weight"],
        "content_bias": labml["query_pos_bias"],                # u
        "position_embeddings": labml["key_pos_embeddings"][past],   # E
        "position_scalar_bias": labml["key_pos_bias"][past],    # s
    }
