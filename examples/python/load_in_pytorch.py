#!/usr/bin/env python3
"""Load a checkpoint of char_lm into PyTorch, and score the beginning of a text with both.

    load_in_pytorch.py CHAR_LM OUT_DIR TEXT

A checkpoint is a safetensors file: the weights under the names and in the layout that PyTorch gives
to modules like those below, and the model's config as metadata. This script has
--model transformer (with learned or sinusoid positions) and transformer_xl. Other mixers differ only
in their scores; nn/README.md has the equations.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from torch import nn
from torch.nn import functional


def expect(condition, otherwise):
    if not condition:
        sys.exit(f"load_in_pytorch: {otherwise} is not supported here")


def sinusoids(positions, width):
    """[sin(t f) | cos(t f)] for each position t, with f_n = 10000^(-2n/C)."""
    frequencies = 10000 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = positions[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], -1).float()  # [T, C]


class Attention(nn.Module):
    """The part that both kinds of attention share: heads, softmax and output."""

    def __init__(self, C, heads, bias):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(C, 3 * C, bias)
        self.output = nn.Linear(C, C, bias)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)  # [B, H, T, D]

    def forward(self, x):
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, -1))
        T, D = q.shape[-2:]
        distance = torch.arange(T)[:, None] - torch.arange(T)  # [T, T], the past above 0
        scores = self.scores(q, k, distance) / math.sqrt(D)
        p = scores.masked_fill(distance < 0, -math.inf).softmax(-1)  # [B, H, T, T]
        return self.output((p @ v).transpose(1, 2).flatten(2))


class MultiHeadAttention(Attention):
    def __init__(self, C, heads, bias, causal, position, **others):
        super().__init__(C, heads, bias)
        expect(causal and position == "none", f"position {position} inside attention")
        expect(not others, f"attention with {others}")

    def scores(self, q, k, distance):
        return q @ k.transpose(-2, -1)


class TransformerXLAttention(Attention):
    def __init__(self, C, heads, positions, **others):
        super().__init__(C, heads, bias=False)
        expect(positions == "sinusoid", f"positions {positions}")
        expect(not others, f"attention with {others}")
        self.position = nn.Linear(C, C, bias=False)
        self.content_bias = nn.Parameter(torch.empty(heads, C // heads))
        self.position_bias = nn.Parameter(torch.empty(heads, C // heads))

    def scores(self, q, k, distance):
        u, v = self.content_bias[:, None], self.position_bias[:, None]  # [H, 1, D]
        T, C = len(distance), self.position.in_features
        r = self.split(self.position(sinusoids(torch.arange(T), C)))  # [H, T, D], a row per distance
        by_distance = (q + v) @ r.transpose(-2, -1)  # [B, H, T, T]
        places = distance.clamp(min=0).expand_as(by_distance)
        return (q + u) @ k.transpose(-2, -1) + by_distance.gather(-1, places)


class FeedForward(nn.Module):
    def __init__(self, C, inner, activation):
        super().__init__()
        self.up = nn.Linear(C, inner)
        self.down = nn.Linear(inner, C)
        self.activation = {"relu": functional.relu, "gelu": functional.gelu}[activation]

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


class TransformerBlock(nn.Module):
    mixers = {
        "multi_head_attention": MultiHeadAttention,
        "transformer_xl_attention": TransformerXLAttention,
    }

    def __init__(self, config):
        super().__init__()
        C, mixer = config["d_model"], dict(config["mixer"])
        self.mixer = self.mixers[mixer.pop("type")](C, config["n_head"], **mixer)
        self.mixer_norm = nn.LayerNorm(C)
        self.feed_forward = FeedForward(C, config["d_inner"], config["activation"])
        self.feed_forward_norm = nn.LayerNorm(C)

    def forward(self, x):
        x = x + self.mixer(self.mixer_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class LanguageModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        C, V = config["d_model"], config["vocab_size"]
        self.embedding = nn.Embedding(V, C)
        self.scale = math.sqrt(C) if config["embedding_scale"] else 1
        self.position = config["position"]
        if self.position == "learned":
            self.position_embedding = nn.Embedding(config["max_len"], C)
        self.blocks = nn.ModuleList(TransformerBlock(config) for _ in range(config["n_layer"]))
        self.final_norm = nn.LayerNorm(C)
        self.output = nn.Linear(C, V)

    def forward(self, tokens):
        x = self.embedding(tokens) * self.scale  # [B, T, C]
        positions = torch.arange(tokens.shape[1])
        if self.position == "learned":
            x = x + self.position_embedding(positions)
        if self.position == "sinusoid":
            x = x + sinusoids(positions, x.shape[-1])
        for block in self.blocks:
            x = block(x)
        return self.output(self.final_norm(x))  # [B, T, V]


def load(path):
    """Returns the model, the characters that its tokens stand for, and its config."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        weights = {name: file.get_tensor(name) for name in file.keys()}
    config = json.loads(metadata["model"])
    expect(config["block"] == "transformer_block", config["block"])
    expect(not config.get("own_mixer"), "a mixer that the program defines")
    expect(config["mixer"]["type"] in TransformerBlock.mixers, config["mixer"]["type"])
    expect(config["final_norm"], "a model without final_norm")
    expect(not config.get("layer_positions"), "positions before each block")
    expect(config["norm_first"], "a norm after its layer")
    if config["tie_embedding"]:
        weights["output.weight"] = weights["embedding.weight"]
    if config["tie_position_biases"]:
        for name in ("content_bias", "position_bias"):
            shared = weights.pop(name)
            weights |= {f"blocks.{n}.mixer.{name}": shared for n in range(config["n_layer"])}
    model = LanguageModel(config)
    model.load_state_dict(weights)
    return model, json.loads(metadata["vocabulary"]), config


def losses_of_char_lm(char_lm, out_dir, text, absolute_positions):
    """Returns -log p of each character but the first. With relative positions, char_lm reads the text
    in pieces, each after a memory of all earlier text, which has to equal one pass over the whole."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "text").write_bytes(text)
        command = [char_lm, "eval", out_dir, "--data", f"{folder}/text", "--eval_split", "1"]
        command += ["--losses", f"{folder}/losses", "--mem_len", str(len(text)), "--mode"]
        if absolute_positions:
            command += ["chunks", "--tgt_len", str(len(text) - 1)]
        else:
            command += ["memory", "--tgt_len", "16"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return torch.tensor([float(line) for line in Path(folder, "losses").read_text().split()])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    char_lm, out_dir, text_file = sys.argv[1:]
    model, characters, config = load(f"{out_dir}/best.safetensors")
    text = Path(text_file).read_bytes()[: config.get("max_len", 64) + 1]
    tokens = torch.tensor([[characters.index(byte) for byte in text]])
    with torch.no_grad():
        logits = model(tokens[:, :-1])
    losses = functional.cross_entropy(logits[0], tokens[0, 1:], reduction="none")  # [T]
    absolute_positions = config["position"] != "none"
    ours = losses_of_char_lm(char_lm, out_dir, text, absolute_positions)
    difference = (losses - ours).abs().max().item()
    print(f"{len(losses)} characters, {losses.mean():.4f} nats each in PyTorch")
    print(f"the largest difference from a loss by char_lm is {difference:.1e} nats")
    sys.exit(difference > 1e-4)


if __name__ == "__main__":
    main()
