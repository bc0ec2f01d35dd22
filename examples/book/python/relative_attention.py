import torch


def relative_attention(
    q, k, v, delta, c, content_bias, position_bias, position_rows, clipped_keys,
    position_scores, clipped_values,
):
    """delta [T, K] has the distance of each pair, c [T, K] its row in the clipped tables."""
    rows = position_rows[delta] + clipped_keys[c]                   # [T, K, H, D]
    score = torch.einsum("bhid,bhjd->bhij", q + content_bias, k)
    score = score + torch.einsum("bhid,ijhd->bhij", q + position_bias, rows)
    score = score + position_scores[delta].permute(2, 0, 1)         # [H, T, K]
    score = (score / q.shape[-1] ** 0.5).masked_fill(delta < 0, -torch.inf)
    p = score.softmax(dim=-1)
    return p @ v + torch.einsum("bhij,ijhd->bhid", p, clipped_values[c])
