"""Layers to test, in all their forms, and inputs for them."""

import re

import torch

import shiftgrad.torch as sg


listed = {"multi_head_attention", "relative_multi_head_attention", "relative_global_attention", "shaw_attention",
          "transformer_xl_attention"}


def others():
    """The kinds of attention that are not listed; they are checked in their plainest form."""
    try:
        sg.layer("")
    except ValueError as error:
        names = re.findall(r"\w+_attention", str(error))
    return [name for name in names if name not in listed]


def forms():
    """Name, config and width of each."""
    def of(name, width, **config):
        yield name, config | ({"d_model": width} if "mixer" not in config else {}), width

    mha = {"n_head": 2}
    yield from of("multi_head_attention", 6, **mha)
    yield from of("multi_head_attention", 6, n_head=3, bias=False, causal=False)
    yield from of("multi_head_attention", 6, **mha, window=3)
    yield from of("multi_head_attention", 6, **mha, window=2, causal=False)
    for position in ("rope", "alibi"):
        for causal in (True, False):
            yield from of("multi_head_attention", 12, n_head=3, position=position, causal=causal)
            yield from of("multi_head_attention", 12, n_head=3, position=position, causal=causal, window=4)
    for causal in (True, False):
        yield from of("relative_multi_head_attention", 6, n_head=2, max_positions=16, causal=causal)
    for max_seq in (1, 3, 32):
        for bidirectional in (False, True):
            yield from of("relative_global_attention", 6, n_head=2, max_seq=max_seq, bidirectional=bidirectional)
    yield from of("relative_global_attention", 6, n_head=2, max_seq=3, relative_bias=False)
    for distance in (0, 2, 40):
        for causal in (True, False):
            yield from of("shaw_attention", 6, n_head=2, max_distance=distance, causal=causal)
    for keys in (True, False):
        for values in (True, False):
            yield from of("shaw_attention", 8, n_head=2, max_distance=2, bias=False, key_positions=keys,
                          value_positions=values)
    for more in ({}, {"d_head": 5}, {"clamp_len": 2}, {"clamp_len": 2, "window": 4}, {"window": 4}):
        for causal in (True, False):
            yield from of("transformer_xl_attention", 6, n_head=2, causal=causal, **more)
    for max_positions in (3, 17):
        yield from of("transformer_xl_attention", 5, n_head=3, d_head=2, positions="learned",
                      max_positions=max_positions)
    yield from of("transformer_xl_attention", 5, n_head=3, d_head=2, positions="learned", max_positions=3, window=3)
    for causal in (True, False):
        for rank in (0, 2):
            yield from of("aft", 3, form="full", max_len=16, causal=causal, factor_rank=rank)
            yield from of("aft", 3, form="local", max_len=16, window=3, causal=causal, factor_rank=rank)
        yield from of("aft", 3, form="simple", causal=causal, bias=causal)
        for window in (1, 3):
            yield from of("aft", 6, form="conv", n_head=2, window=window, causal=causal)
    for cell in ("rnn", "gru", "lstm"):
        yield from of("local_rnn", 4, window=3, cell=cell)
        yield from of("r_transformer_block", 6, n_head=2, window=3, cell=cell, d_inner=5)
    for name in others():
        yield from of(name, 6, n_head=2)
    mixers = (
        {"type": "multi_head_attention", "d_model": 6, "n_head": 2},
        {"type": "transformer_xl_attention", "d_model": 6, "n_head": 2},
        {"type": "aft", "d_model": 6, "form": "simple"},
        {"type": "local_rnn", "d_model": 6, "window": 2},
    )
    for mixer in mixers:
        for norm_first in (True, False):
            yield from of("transformer_block", 6, mixer=mixer, d_inner=5, norm_first=norm_first, activation="gelu")
        cross = {} if "n_head" in mixer else {"n_head": 3}
        yield from of("encoder_decoder_block", 6, mixer=mixer, d_inner=5, **cross)


def randomized(name, config, dtype):
    """The layer, with parameters large enough for every term to count."""
    layer = sg.layer(name, **config).to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(-1, 1)
    return layer


def mixer_of(name, config):
    return config["mixer"]["type"] if "mixer" in config else name


def takes_memory(name):
    return name != "r_transformer_block"


def takes_masks(name, config):
    return mixer_of(name, config) not in ("local_rnn", "r_transformer_block")


def inputs(name, config, width, dtype, B=2, T=4, M=3, masks=False):
    """Keyword arguments of a call."""
    given = {"x": torch.randn(B, T, width, dtype=dtype)}
    M = M if takes_memory(name) else 0
    if M:
        given["memory"] = torch.randn(B, M, width, dtype=dtype)
    if name == "encoder_decoder_block":
        given["context"] = torch.randn(B, 3, width, dtype=dtype)
    if masks and takes_masks(name, config):
        given["key_padding_mask"] = torch.rand(B, M + T) < 0.2
        given["attention_mask"] = torch.rand(T, M + T) < 0.2
    return given


def label(name, config):
    return f"{name} {config}"
