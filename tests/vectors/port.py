"""A port: the formulas in NumPy, as plain as they are. Put yours in its place."""

import numpy as np


def terms(layer, c, p, delta, H, D):
    """content_bias, position_bias, rows [T, K, H or 1, D], scalars [T, K, H], rows for the values; what is hidden."""
    m, zero = c.get("max_seq"), np.zeros((1, 1, 1, D))
    if layer == "relative_multi_head_attention":
        row = c["max_positions"] - delta
        return p["query_pos_bias"], 0, p["key_pos_embeddings"][row], p["key_pos_bias"][row], zero, False
    if layer == "relative_global_attention":
        row, is_past = np.clip(m - 1 - abs(delta), 0, None), (delta >= 0)[..., None]  # [T, K, 1]
        table = lambda name: np.moveaxis(p[name if name in p else name.replace("future", "past")][:, row], 0, 2)
        rows = np.where(is_past[..., None], table("past_embeddings"), table("future_embeddings"))
        return 0, 0, rows, np.where(is_past, table("past_bias"), table("future_bias")), zero, abs(delta) >= m
    if layer == "shaw_attention":
        row = np.clip(-delta, -c["max_distance"], c["max_distance"]) + c["max_distance"]
        keys, values = (p[name + "_distance_embeddings"][row][:, :, None] for name in ("key", "value"))
        return 0, 0, keys, 0, values, False
    if c.get("positions") == "learned":
        row = np.clip(c["max_positions"] - 1 - delta, 0, c["max_positions"] - 1)
        return p["content_bias"], 0, p["position_embeddings"][row], p["position_scalar_bias"][row], zero, False
    if layer == "transformer_xl_attention":
        limit, C = c.get("clamp_len") or 10**9, c["d_model"]
        angle = np.clip(delta, -limit, limit)[..., None] * 10000.0 ** (-np.arange(0, C, 2) / C)
        rows = np.concatenate([np.sin(angle), np.cos(angle)], -1) @ p["position.weight"].T
        return p["content_bias"], p["position_bias"], rows.reshape(*delta.shape, H, D), 0, zero, False
    slope = 2.0 ** (-8 * (np.arange(H) + 1) / H) * (c.get("position") == "alibi")
    return 0, 0, zero, -slope * abs(delta)[..., None] * np.sqrt(D), zero, False


def turned(x, position):
    """rope: the pairs (n, n + D/2) of x [B, T, H, D] turned by their angles."""
    D = x.shape[-1]
    angle = position[:, None, None] * 10000.0 ** (-2 * np.arange(D // 2) / D)
    lo, hi = x[..., :D // 2], x[..., D // 2:]
    return np.concatenate([lo * np.cos(angle) - hi * np.sin(angle), hi * np.cos(angle) + lo * np.sin(angle)], -1)


def compute(layer, layout, c, p, x, memory, padding):
    """The output of a layer, or None for one that is not computed here."""
    T, linear = x.shape[-2], lambda name, x: x @ p[name + ".weight"].T + p.get(name + ".bias", 0)
    if layout:  # the scores by distance x [..., T, n], from the farthest key on, brought to their keys
        K = x.shape[-1] - {"nemo": T - 1, "xlnet": T}.get(layout, 0)
        column = (T - 1 - np.arange(T)[:, None]) + np.arange(K) + (layout == "xlnet")
        if layout == "labml":  # a column of zeros on the right, and the end dropped
            return np.pad(x, [(0, 0)] * 3 + [(0, 1)]).reshape(*x.shape[:2], -1)[..., :T * K].reshape(x.shape)
        seen = column < x.shape[-1]
        return np.take_along_axis(x, np.broadcast_to(np.where(seen, column, 0), x.shape[:-1] + (K,)), -1) * seen
    if "qkv.weight" not in p:
        return None
    past = x if memory is None else np.concatenate([memory, x], 1)
    K, H = past.shape[1], c.get("n_head", 1)
    delta = (K - T + np.arange(T))[:, None] - np.arange(K)
    causal, near = c.get("causal", not c.get("bidirectional")), abs(delta) < c.get("window", 10**9)
    hidden = (delta < 0) & causal | ~near & (layer != "aft")
    hidden = hidden[None] | (np.zeros((1, K), bool) if padding is None else padding)[:, None]  # [1 or B, T, K]
    q, k, v = (part.reshape(*part.shape[:2], H, -1) for part in np.split(linear("qkv", past), 3, -1))
    q, D = q[:, K - T:], q.shape[-1]
    if layer == "aft":
        w = 0 * delta if c["form"] == "simple" else p["position_bias"][K - T:K, :K] * near
        e = np.exp(k[:, None, :, 0] + w[..., None]) * ~hidden[..., None]
        return linear("output", (e * v[:, None, :, 0]).sum(2) / e.sum(2) / (1 + np.exp(-q[:, :, 0])))
    if c.get("position") == "rope":
        q, k = turned(q, np.arange(K - T, K)), turned(k, np.arange(K))
    v = v + p.get("value_bias", np.zeros(H * D)).reshape(H, D)
    u, w, rows, scalars, values, far = terms(layer, c, p, delta, H, D)
    rows = np.broadcast_to(rows, (T, K, H, D))
    score = np.einsum("bihd,bjhd->bijh", q + u, k) + np.einsum("bihd,ijhd->bijh", q + w, rows) + scalars
    e = np.exp(score / np.sqrt(D)) * ~(hidden | far)[..., None]
    y = np.einsum("bijh,bijhd->bihd", e / e.sum(2, keepdims=True), v[:, None] + values)
    return linear("output", y.reshape(*y.shape[:2], -1))
