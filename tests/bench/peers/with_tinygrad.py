"""Steps in tinygrad on the CPU: a TinyJit from the tokens to the updated weights.

    with_tinygrad.py CASE.npz float32
"""
import os

os.environ.setdefault("DEV", "CPU")

import importlib.metadata  # noqa: E402

from tinygrad import Context, Tensor, TinyJit, nn  # noqa: E402

import steps  # noqa: E402


def linear(weights, name, x):
    return x.linear(weights[f"{name}.weight"].T, weights[f"{name}.bias"])


def norm(weights, name, x):
    return x.layernorm(eps=1e-5) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def attention(weights, name, x, heads):
    parts = linear(weights, f"{name}.qkv", x).chunk(3, -1)
    query, key, value = (part.reshape(*x.shape[:2], heads, -1).transpose(1, 2) for part in parts)  # [B, H, T, D]
    mixed = query.scaled_dot_product_attention(key, value, is_causal=True)
    return linear(weights, f"{name}.output", mixed.transpose(1, 2).reshape(x.shape))


def feed_forward(weights, name, x):
    return linear(weights, f"{name}.2", linear(weights, f"{name}.0", x).gelu("none"))


def loss_of(weights, rows, layers, heads):
    x = weights["embedding.weight"][rows[:, :-1]] + weights["position"]
    for n in range(layers):
        block = f"blocks.{n}"
        x = x + attention(weights, f"{block}.1", norm(weights, f"{block}.0", x), heads)
        x = x + feed_forward(weights, f"{block}.3", norm(weights, f"{block}.2", x))
    logits = norm(weights, "norm", x) @ weights["embedding.weight"].T
    return logits.sparse_categorical_crossentropy(rows[:, 1:])


def make_step(case, precision):
    layers, heads, *_ = map(int, case["shape"])
    weights = {name: Tensor(array) for name, array in case.items() if name not in ("shape", "text")}
    optimizer = nn.optim.AdamW(list(weights.values()), lr=1e-3, b1=0.9, b2=0.99, weight_decay=0.1)

    @TinyJit
    def update(rows):
        optimizer.zero_grad()
        loss = loss_of(weights, rows, layers, heads).backward()
        squares = [weight.grad.square().sum() for weight in optimizer.params]
        factor = (1 / (Tensor.stack(*squares).sum().sqrt() + 1e-6)).minimum(1)
        for weight in optimizer.params:
            weight.grad = weight.grad * factor
        return loss.realize(*optimizer.schedule_step())

    rows = steps.batches(case)

    def step():
        with Context(TRAINING=1):
            return [update(Tensor(next(rows)).realize()).numpy()]

    return step


if __name__ == "__main__":
    steps.run(make_step, f"tinygrad {importlib.metadata.version('tinygrad')}", warm=2)
