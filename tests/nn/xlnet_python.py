#!/usr/bin/env python3
"""Compares transformer_xl_attention with the relative attention of XLNet in Python's transformers.

    xlnet_python.py RUN_LAYER RUN_LAYER_F64

Both get the same random weights, one way and two-way, with and without memory, window and clamp. Outputs
and all gradients have to agree. Skipped where Python lacks the packages.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

try:
    import torch
    from safetensors.torch import load_file, save_file
    from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

run_layer = {torch.float32: sys.argv[1], torch.float64: sys.argv[2]}
tolerance = {torch.float32: 1e-5, torch.float64: 1e-12}
folder = tempfile.TemporaryDirectory()
case_path, out_path = (str(Path(folder.name) / name) for name in ("case", "out"))
B, H, C = 2, 3, 12
D = C // H


def distances(T, K, causal, clamp):
    """XLNet's rows, from K down: one more than it needs."""
    rows = torch.arange(K, -1 if causal else -T, -1, dtype=torch.float64)
    rows = rows.clamp(-clamp, clamp) if clamp else rows
    frequencies = 1 / 10000 ** (torch.arange(0, C, 2, dtype=torch.float64) / C)
    return XLNetModel.positional_embedding(rows, frequencies)  # [n, 1, C]


def hidden(T, K, causal, window):
    delta = (K - T) + torch.arange(T)[:, None] - torch.arange(K)[None]
    mask = (delta < 0) if causal else torch.zeros(T, K, dtype=torch.bool)
    return mask | (delta.abs() >= window) if window else mask


def by_xlnet(layer, x, memory, causal, window, clamp):
    """y [B, T, C], without XLNet's residual and norm."""
    T, K = x.shape[1], x.shape[1] + memory.shape[1]
    tokens = torch.cat([memory, x], 1).transpose(0, 1)  # [K, B, C]
    project = lambda tokens, weight: torch.einsum("ibh,hnd->ibnd", tokens, weight)
    rows = distances(T, K, causal, clamp).to(x.dtype).expand(-1, B, -1)
    mask = hidden(T, K, causal, window).to(x.dtype)[:, :, None, None]
    heads = layer.rel_attn_core(
        project(tokens[-T:], layer.q), project(tokens, layer.k), project(tokens, layer.v),
        project(rows, layer.r), attn_mask=mask.expand(T, K, B, H),
    )  # [T, B, H, D]
    return torch.einsum("ibnd,hnd->ibh", heads, layer.o).transpose(0, 1)


def parameters(layer, of):
    """Ours by name, of the layer's parameters or of what `of` takes from them."""
    flat = lambda weight: of(weight).reshape(C, H * D)
    return {
        "qkv.weight": torch.cat([flat(layer.q), flat(layer.k), flat(layer.v)], 1).T,
        "output.weight": flat(layer.o),
        "position.weight": flat(layer.r).T,
        "content_bias": of(layer.r_w_bias),
        "position_bias": of(layer.r_r_bias),
    }


def compare(dtype, T, M, causal, window, clamp):
    config = {"d_model": C, "n_head": H, "causal": causal}
    config |= {"window": window} if window else {}
    config |= {"clamp_len": clamp} if clamp else {}
    sizes = SimpleNamespace(d_model=C, n_head=H, d_head=D, layer_norm_eps=1e-5, dropout=0)
    layer = XLNetRelativeAttention(sizes).to(dtype)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(torch.rand_like(weight) * 2 - 1)
    x, memory, cotangent = (torch.randn(B, n, C, dtype=dtype) for n in (T, M, T))

    x.requires_grad_()
    expected = by_xlnet(layer, x, memory, causal, window, clamp)
    expected.backward(cotangent)

    case = {f"param.{name}": value.detach().contiguous() for name, value in parameters(layer, lambda w: w).items()}
    case |= {"input.x": x.detach(), "input.memory": memory, "grad_output": cotangent}
    save_file(case, case_path, {"layer": "transformer_xl_attention", "config": json.dumps(config)})
    subprocess.run([run_layer[dtype], case_path, out_path], check=True)
    got = load_file(out_path)

    wanted = {"output": expected.detach(), "grad.input.x": x.grad}
    wanted |= {f"grad.param.{name}": value for name, value in parameters(layer, lambda w: w.grad).items()}
    assert wanted.keys() == got.keys(), (wanted.keys(), got.keys())
    for name, value in wanted.items():
        error = ((got[name] - value).abs().max() / value.abs().max().clamp(min=1)).item()
        if not error <= tolerance[dtype]:
            sys.exit(f"FAILED: {dtype}, T {T}, M {M}, {config}: {name} is off by {error:.1e}")


torch.manual_seed(1)
count = 0
for dtype in (torch.float32, torch.float64):
    for T, M in ((1, 0), (5, 0), (4, 3), (1, 6)):
        for causal in (True, False):
            for window, clamp in ((0, 0), (3, 0), (0, 2), (3, 2)):
                compare(dtype, T, M, causal, window, clamp)
                count += 1
print(f"{count} cases agree with XLNet's")
