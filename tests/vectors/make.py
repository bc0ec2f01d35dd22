#!/usr/bin/env python3
"""Makes the vectors: make.py RUN_LAYER_F64 FOLDER

Each is a case of run_layer, with what run_layer_f64 made of it beside it: input.*, param.*, grad_output, output
and grad.*, in double. The metadata have the layer, its config and, of a shift, the layout.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

B, H, D, T, M = 2, 2, 3, 5, 3
C = H * D
padding = np.arange(T)[None] >= np.array([T, T - 2])[:, None]  # [B, T], true = hidden


def attentions():
    """Name, layer, config and names and shapes of parameters of each variant."""
    linear = lambda name, rows, columns=C: {name + ".weight": (rows, columns), name + ".bias": (rows,)}
    both = linear("qkv", 3 * C) | linear("output", C)
    weights = {"qkv.weight": (3 * C, C), "output.weight": (C, C)}
    heads = {"d_model": C, "n_head": H}
    for position in ("none", "rope", "alibi"):
        # Angles turn pairs of channels, so rope needs an even width of a head.
        more = {"d_model": 8} if position == "rope" else {}
        wide = linear("qkv", 24, 8) | linear("output", 8, 8) if more else both
        yield f"multi_head_{position}", "multi_head_attention", heads | more | {"position": position}, wide
    yield "multi_head_both_ways", "multi_head_attention", heads | {"causal": False}, both
    yield "multi_head_window", "multi_head_attention", heads | {"window": 3}, both
    for causal in (True, False):
        P, way = 12, "" if causal else "_both_ways"
        yield "labml" + way, "relative_multi_head_attention", heads | {
            "max_positions": P, "causal": causal}, weights | {
            "value_bias": (C,), "output.bias": (C,), "key_pos_embeddings": (2 * P, H, D), "key_pos_bias": (2 * P, H),
            "query_pos_bias": (H, D)}
        tables = {"past_embeddings": (H, 6, D), "past_bias": (H, 6)}
        tables |= {} if causal else {"future_embeddings": (H, 6, D), "future_bias": (H, 6)}
        yield "music_transformer" + way, "relative_global_attention", heads | {
            "max_seq": 6, "bidirectional": not causal}, both | tables
        yield "shaw" + way, "shaw_attention", heads | {"max_distance": 2, "causal": causal}, both | {
            "key_distance_embeddings": (5, D), "value_distance_embeddings": (5, D)}
        yield "transformer_xl" + way, "transformer_xl_attention", heads | {"causal": causal}, weights | {
            "position.weight": (C, C), "content_bias": (H, D), "position_bias": (H, D)}
    yield "transformer_xl_clamped", "transformer_xl_attention", heads | {"clamp_len": 3}, weights | {
        "position.weight": (C, C), "content_bias": (H, D), "position_bias": (H, D)}
    yield "transformer_xl_learned", "transformer_xl_attention", heads | {
        "positions": "learned", "max_positions": 6}, weights | {
        "content_bias": (H, D), "position_embeddings": (6, H, D), "position_scalar_bias": (6, H)}
    for form in ("full", "local", "simple"):
        bias = {} if form == "simple" else {"max_len": 9} | ({"window": 3} if form == "local" else {})
        yield f"aft_{form}", "aft", {"d_model": C, "form": form} | bias, linear("qkv", 3 * C) | linear("output", C) | (
            {"position_bias": (9, 9)} if bias else {})
    yield "aft_conv", "aft", {"d_model": C, "form": "conv", "window": 3, "n_head": H}, linear("query", C) | linear(
        "key", H) | linear("value", C) | linear("output", C) | {
        "kernel": (H, 3), "kernel_gain": (H,), "kernel_offset": (H,)}
    for cell, gates in {"rnn": 1, "gru": 3, "lstm": 4}.items():
        yield f"local_rnn_{cell}", "local_rnn", {"d_model": C, "window": 3, "cell": cell}, {
            "weight_ih": (gates * C, C), "weight_hh": (gates * C, C), "bias_ih": (gates * C,), "bias_hh": (gates * C,)}


def run(program, layer, config, tensors):
    """What the program gives for a case."""
    with tempfile.TemporaryDirectory() as folder:
        case, out = Path(folder, "case"), Path(folder, "out")
        save_file(tensors, case, {"layer": layer, "config": json.dumps(config)})
        subprocess.run([program, case, out], check=True)
        return load_file(out)


def write(folder, name, layer, config, tensors, layout=None):
    metadata = {"layer": layer, "config": json.dumps(config)} | ({"layout": layout} if layout else {})
    save_file({key: np.ascontiguousarray(each) for key, each in tensors.items()}, Path(folder, name + ".safetensors"),
              metadata)


def main(program, folder):
    Path(folder).mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(20)
    draw = lambda *shape: random.uniform(-1, 1, shape)

    for name, layer, config, shapes in attentions():
        width = config["d_model"]
        for situation in ("", "_memory", "_padding"):
            if situation == "_padding" and layer == "local_rnn":
                continue
            tensors = {"input.x": draw(B, T, width), "grad_output": draw(B, T, width)}
            tensors |= {"param." + each: draw(*shape) for each, shape in shapes.items()}
            if situation == "_memory":
                tensors["input.memory"] = draw(B, M, width)
            if situation == "_padding":
                tensors["input.key_padding_mask"] = padding
            write(folder, name + situation, layer, config, tensors | run(program, layer, config, tensors))

    # The scores by distance, n columns from the farthest key on, and the shifts that bring them to their keys.
    for layout, n, K, zero_triu in (("transformer_xl", T, T, True), ("transformer_xl_memory", M + T, M + T, True),
                                    ("music_transformer", T, T, True), ("nemo", 2 * T - 1, T, False),
                                    ("xlnet", M + 2 * T, M + T, False), ("labml", T, T, False)):
        layer = "shift_right" if layout == "labml" else "rel_shift"
        config = {} if layout == "labml" else {"zero_triu": zero_triu}
        x, gradient = draw(B, H, T, n), draw(B, H, T, K)
        unused = n - (K + T - 1) if layout == "xlnet" else 0  # XLNet has a column for the distance K
        given = x[..., unused:]
        padded = np.zeros(given.shape)
        padded[..., :K] = gradient
        made = run(program, layer, config, {"input.x": np.ascontiguousarray(given), "grad_output": padded})
        back = np.zeros(x.shape)
        back[..., unused:] = made["grad.input.x"]
        write(folder, "shift_" + layout, layer, config, {
            "input.x": x, "grad_output": gradient, "output": made["output"][..., :K], "grad.input.x": back}, layout)


if __name__ == "__main__":
    main(*sys.argv[1:])
