"""Steps in MLX on the CPU: one compiled function from the tokens to the updated weights.

    with_mlx.py CASE.npz float32|bfloat16

In bfloat16 the weights and their moments stay floats, and so do the logits.
"""
import functools

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optimizers

import steps


def linear(weights, name, x):
    return mx.addmm(weights[f"{name}.bias"], x, weights[f"{name}.weight"].T)


def norm(weights, name, x):
    return mx.fast.layer_norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-5)


def attention(weights, name, x, heads):
    parts = mx.split(linear(weights, f"{name}.qkv", x), 3, -1)
    query, key, value = (part.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) for part in parts)  # [B, H, T, D]
    mixed = mx.fast.scaled_dot_product_attention(query, key, value, scale=query.shape[-1] ** -0.5, mask="causal")
    return linear(weights, f"{name}.output", mixed.swapaxes(1, 2).reshape(x.shape))


def feed_forward(weights, name, x):
    return linear(weights, f"{name}.2", nn.gelu(linear(weights, f"{name}.0", x)))


def loss_of(weights, rows, layers, heads, precision):
    weights = {name: array.astype(precision) for name, array in weights.items()}
    x = weights["embedding.weight"][rows[:, :-1]] + weights["position"]
    for n in range(layers):
        block = f"blocks.{n}"
        x = x + attention(weights, f"{block}.1", norm(weights, f"{block}.0", x), heads)
        x = x + feed_forward(weights, f"{block}.3", norm(weights, f"{block}.2", x))
    logits = norm(weights, "norm", x) @ weights["embedding.weight"].T
    return nn.losses.cross_entropy(logits.astype(mx.float32), rows[:, 1:], reduction="mean")


def make_step(case, precision):
    mx.set_default_device(mx.cpu)
    layers, heads, *_ = map(int, case["shape"])
    weights = {name: mx.array(array) for name, array in case.items() if name not in ("shape", "text")}
    optimizer = optimizers.AdamW(1e-3, betas=[0.9, 0.99], weight_decay=0.1, bias_correction=True)
    optimizer.init(weights)
    state = [weights, optimizer.state]

    @functools.partial(mx.compile, inputs=state, outputs=state)
    def update(rows):
        loss, gradients = mx.value_and_grad(loss_of)(weights, rows, layers, heads, getattr(mx, precision))
        gradients, _ = optimizers.clip_grad_norm(gradients, 1.0)
        weights.update(optimizer.apply_gradients(gradients, weights))
        return loss

    rows = steps.batches(case)

    def step():
        loss = update(mx.array(next(rows)))
        mx.eval(loss, state)
        return [loss]

    return step


if __name__ == "__main__":
    steps.run(make_step, f"MLX {mx.__version__}", warm=0)
