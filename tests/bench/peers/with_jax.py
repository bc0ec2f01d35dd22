"""Steps in JAX: one jit from the tokens to the updated weights, which are donated.

    with_jax.py CASE.npz float32|bfloat16

In bfloat16 the weights and their moments stay floats, and so do norms, softmax and logits.
"""
import functools

import jax
import jax.numpy as jnp
import numpy
import optax

import steps


def linear(weights, name, x):
    y = x @ weights[f"{name}.weight"]
    return y + weights[f"{name}.bias"] if f"{name}.bias" in weights else y


def norm(weights, name, x):
    y = x.astype(jnp.float32)
    y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
    return (y * weights[f"{name}.weight"] + weights[f"{name}.bias"]).astype(x.dtype)


def split_heads(x, heads):
    return x.reshape(*x.shape[:-1], heads, -1)  # [B, T, H, D]


def attention(weights, prefix, x, heads):
    query, key, value = (split_heads(part, heads) for part in jnp.split(linear(weights, f"{prefix}qkv", x), 3, -1))
    mixed = jax.nn.dot_product_attention(query, key, value, is_causal=True)
    return linear(weights, f"{prefix}output", mixed.reshape(x.shape))


def feed_forward(weights, name, x):
    return linear(weights, f"{name}.2", jax.nn.gelu(linear(weights, f"{name}.0", x), approximate=False))


def language_loss(weights, x, wanted):
    """Behind the last block: the tied embedding's logits and the mean of the cross-entropies."""
    x = norm(weights, "norm", x)
    logits = jnp.einsum("btc,vc->btv", x, weights["embedding.weight"], preferred_element_type=jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).mean()


def transformer_loss(weights, rows, layers, heads):
    x = weights["embedding.weight"][rows[:, :-1]] + weights["position"]
    for n in range(layers):
        block = f"blocks.{n}"
        x = x + attention(weights, f"{block}.1.", norm(weights, f"{block}.0", x), heads)
        x = x + feed_forward(weights, f"{block}.3", norm(weights, f"{block}.2", x))
    return language_loss(weights, x, rows[:, 1:])


def shifted(by_distance):
    """[B, H, T, K] by distance, the farthest first, to the same by key: pad and reshape."""
    batch, heads, length, keys = by_distance.shape
    padded = jnp.pad(by_distance, ((0, 0), (0, 0), (0, 0), (1, 0))).reshape(batch, heads, keys + 1, length)
    return padded[:, :, 1:].reshape(by_distance.shape)


def relative_attention(weights, name, x, memory, sinusoids, heads):
    query = split_heads(x @ weights[f"{name}.qkv.weight"][:, : x.shape[-1]], heads)
    pair = jnp.concatenate([memory, x], 1) @ weights[f"{name}.qkv.weight"][:, x.shape[-1] :]
    key, value = (split_heads(part, heads) for part in jnp.split(pair, 2, -1))
    rows = split_heads(linear(weights, f"{name}.position", sinusoids), heads)  # [K, H, D]
    query, key, value = (part.swapaxes(1, 2) for part in (query, key, value))  # [B, H, T, D]
    content = (query + weights[f"{name}.content_bias"][:, None]) @ key.swapaxes(2, 3)
    position = (query + weights[f"{name}.position_bias"][:, None]) @ rows.transpose(1, 2, 0)
    scores = (content + shifted(position)).astype(jnp.float32) / query.shape[-1] ** 0.5
    visible = jnp.tri(*scores.shape[2:], scores.shape[3] - scores.shape[2], dtype=bool)
    p = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf)).astype(value.dtype)
    return linear(weights, f"{name}.output", (p @ value).swapaxes(1, 2).reshape(x.shape))


def transformer_xl_loss(weights, rows, layers, heads, memories):
    """The loss, and what the next step remembers."""
    x = weights["embedding.weight"][rows[:, :-1]]
    keys = memories[0].shape[1] + x.shape[1]
    angles = jnp.arange(keys - 1, -1, -1.0)[:, None] / 10000 ** (jnp.arange(0, x.shape[-1], 2.0) / x.shape[-1])
    sinusoids = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], 1).astype(x.dtype)
    remembered = []
    for n, memory in enumerate(memories):
        block = f"blocks.{n}"
        remembered.append(jnp.concatenate([memory, x], 1)[:, -memory.shape[1] :])
        earlier, present = (norm(weights, f"{block}.0", each) for each in (memory, x))
        x = x + relative_attention(weights, f"{block}.1", present, earlier, sinusoids, heads)
        x = x + feed_forward(weights, f"{block}.3", norm(weights, f"{block}.2", x))
    return language_loss(weights, x, rows[:, 1:]), remembered


def layer(weights, x):
    """Attention with 4 heads, or AFT's full form where there are position biases."""
    if "position_bias" not in weights:
        return attention(weights, "", x, heads=4)
    query, key, value = jnp.split(linear(weights, "qkv", x), 3, -1)
    length = x.shape[1]
    weight = jnp.where(jnp.tri(length, dtype=bool), jnp.exp(weights["position_bias"]), 0)  # [T, T]
    exp_key = jnp.exp(key - key.max(1, keepdims=True))
    top, bottom = (jnp.einsum("tk,bkc->btc", weight, each) for each in (exp_key * value, exp_key))
    return linear(weights, "output", jax.nn.sigmoid(query) * (top / bottom))


def taken(case, precision):
    """The weights, matrices transposed to [in, out] but for the embedding, and a function that casts them."""
    of_matrix = lambda name, array: array.T if name.endswith(".weight") and name != "embedding.weight" else array
    weights = {name: jnp.array(of_matrix(name, array)) for name, array in case.items()
               if name not in ("shape", "text", "x", "cotangent")}
    return weights, lambda tree: jax.tree.map(lambda array: array.astype(precision), tree)


def language_step(case, precision):
    layers, heads, width, length, batch = map(int, case["shape"])
    weights, cast = taken(case, precision)
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, b1=0.9, b2=0.99, weight_decay=0.1))
    has_memory = "position" not in weights
    memories = [jnp.zeros((batch, length, width), precision)] * layers if has_memory else []

    def loss_of(weights, rows, memories):
        if has_memory:
            return transformer_xl_loss(cast(weights), rows, layers, heads, memories)
        return transformer_loss(cast(weights), rows, layers, heads), memories

    @functools.partial(jax.jit, donate_argnums=(0, 1, 3))
    def update(weights, moments, rows, memories):
        (loss, memories), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, rows, memories)
        changes, moments = rule.update(gradients, moments, weights)
        return optax.apply_updates(weights, changes), moments, memories, loss

    rows = (steps.streams if has_memory else steps.batches)(case)
    state = [weights, rule.init(weights), [memory.copy() for memory in memories]]

    def step():
        *state[:], loss = update(state[0], state[1], next(rows), state[2])
        jax.block_until_ready(state)
        return [loss]

    return step


def layer_step(case, precision):
    weights, cast = taken(case, precision)
    x, cotangent = jnp.array(case["x"]), jnp.array(case["cotangent"])

    @jax.jit
    def both(weights, x, cotangent):
        y, back = jax.vjp(lambda weights, x: layer(cast(weights), x.astype(precision)), weights, x)
        return y, *back(cotangent.astype(y.dtype))

    def step():
        y, gradients, of_x = jax.block_until_ready(both(weights, x, cotangent))
        return [y, of_x]

    return step


def make_step(case, precision):
    return (layer_step if "x" in case else language_step)(case, precision)


if __name__ == "__main__":
    steps.run(make_step, f"JAX {jax.__version__}", warm=1)
