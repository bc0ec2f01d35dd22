"""How many multiplications a token costs a trained model on its way forward, from the shapes of its weights.

Counted are products with weights, of queries with keys and distances, and of weights with values, at the mean number of keys
in a block. What costs a channel a few more, such as norms, activations or a turn by rotary positions, is left out.
"""

import json


def shapes(checkpoint):
    """The shapes of a checkpoint's weights, without what the trainer keeps beside them."""
    with open(checkpoint, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return {name: tensor["shape"] for name, tensor in header.items()
            if name != "__metadata__" and not name.startswith("trainer.")}


def size(shape):
    count = 1
    for length in shape:
        count *= length
    return count


def parameters(checkpoint):
    return sum(map(size, shapes(checkpoint).values()))


def of_weights(name, shape, flags):
    """What a token multiplies with one weight."""
    if name == "embedding.weight":  # is the output's weight, too
        return size(shape)
    if name.endswith("weight_hh"):  # a window's first step starts from zero
        return (int(flags.get("window", 7)) - 1) * size(shape)
    if name.endswith("mixer.position.weight"):  # once for each distance, not for each token
        return size(shape) * (1 + int(flags["mem_len"]) / int(flags["block_size"])) / int(flags["batch_size"])
    matrix = len(shape) == 2 and name.endswith((".weight", "weight_ih")) and name != "position_embedding.weight"
    return size(shape) if matrix else 0


def of_pairs(flags):
    """What a token multiplies with other tokens in one block of a model, for all its channels."""
    channels, block = int(flags["n_embd"]), int(flags["block_size"])
    keys = int(flags.get("mem_len", 0)) + (block + 1) / 2
    model = flags["model"]
    if model == "local_rnn":
        return 0
    if model in ("gated_linear", "retention"):  # S and its use, and chunks of 16 with their decays
        return channels * (2 * channels // int(flags["n_head"]) + 3 * (16 + 1) / 2)
    if model == "streaming":  # the first 4 keys and the last 64, of twice the width
        return channels * 3 * sum(min(t, 64 + 4) for t in range(1, block + 1)) / block
    if model == "cope":  # 64 positions
        return channels * (2 * keys + 64)
    if model == "fire":  # a net of 32 units in each head
        return (2 * channels + 2 * 32 * int(flags["n_head"])) * keys
    if model == "differential":  # two maps of each value
        return 3 * channels * keys
    if model == "aft":
        heads = int(flags["n_head"])
        return {"simple": channels, "full": 2 * channels * keys, "conv": 11 * (channels + heads) + channels,
                "local": 2 * channels * sum(min(t, 32) for t in range(1, block + 1)) / block}[flags["form"]]
    distances = keys if model in ("transformer_xl", "labml", "music_transformer") else 0
    if model == "shaw":  # its 17 distances, for keys and for values
        distances = 2 * sum(min(t, 17) for t in range(1, block + 1)) / block
    return channels * (2 * keys + distances)


def per_token(checkpoint, flags):
    weights = sum(of_weights(name, shape, flags) for name, shape in shapes(checkpoint).items())
    return round(weights + int(flags["n_layer"]) * of_pairs(flags))
