import torch


def transformer_xl_layer(h, m, R, W_q, W_kE, W_v, W_kR, W_o, u, v, net, norms):
    """One head, one row of tokens. R [K, C] begins with the distance K - 1 and ends with 0."""
    both = torch.cat([m.detach(), h])                       # [K, C]
    q, k, values = h @ W_q.T, both @ W_kE.T, both @ W_v.T
    T, K = len(q), len(k)
    b_and_d = (q + v) @ (R @ W_kR.T).T                      # (b) + (d) by distance [T, K]
    padded = torch.cat([torch.zeros(T, 1).to(h), b_and_d], dim=1)
    A = (q + u) @ k.T + padded.view(K + 1, T)[1:].view(T, K)
    future = torch.ones(T, K, dtype=torch.bool).triu(K - T + 1)
    a = (A / k.shape[1] ** 0.5).masked_fill(future, -torch.inf).softmax(-1) @ values
    o = norms[0](a @ W_o.T + h)
    return norms[1](net(o) + o)
