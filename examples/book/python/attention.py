from torch.nn import functional as F


def attention(q, k, v, hidden, dropout=0.0):
    """All of it is one function of PyTorch. Its mask is true where a query may look."""
    visible = ~hidden
    y = F.scaled_dot_product_attention(
        q, k, v, attn_mask=visible, dropout_p=dropout
    )
    return y    # Σ_j p_ij v_j [B, H, T, D]
