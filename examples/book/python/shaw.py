import torch


def shaw(q, k, v, a, b, hidden):
    """Equations 3 and 4. a, b [2m + 1, D] are shared by the heads."""
    T, K, m = q.shape[2], k.shape[2], len(a) // 2
    delta = K - T + torch.arange(T)[:, None] - torch.arange(K)
    c = (-delta).clamp(-m, m) + m                           # [T, K]
    e = torch.einsum("bhid,bhijd->bhij", q, k[:, :, None] + a[c])
    p = (e / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf).softmax(dim=-1)
    return torch.einsum("bhij,bhijd->bhid", p, v[:, :, None] + b[c])
