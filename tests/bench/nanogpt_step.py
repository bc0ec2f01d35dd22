"""The first case of bench.cpp in PyTorch: a training step of a GPT, L4 H4 d128 T64 B12 V96, 2 threads.

Prints the median milliseconds of 20 steps: batch, forward, backward, clipping, AdamW.
"""
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

LAYERS, HEADS, WIDTH, LENGTH, BATCH, VOCABULARY = 4, 4, 128, 64, 12, 96


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        heads = self.qkv(self.attention_norm(x)).unflatten(2, (3, HEADS, WIDTH // HEADS))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.feed_forward(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH))
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)], nn.LayerNorm(WIDTH))

    def forward(self, tokens, targets):
        x = self.blocks(self.embedding(tokens) + self.position)
        logits = functional.linear(x, self.embedding.weight)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    torch.set_num_threads(2)
    torch.manual_seed(1)
    text = torch.randint(VOCABULARY, (400_000,))
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.99), weight_decay=0.1)

    def step():
        starts = torch.randint(len(text) - LENGTH - 1, (BATCH,))
        rows = torch.stack([text[start : start + LENGTH + 1] for start in starts])
        loss = model(rows[:, :-1], rows[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    times = []
    for run in range(25):
        start = time.perf_counter()
        step()
        if run >= 5:
            times.append(1e3 * (time.perf_counter() - start))
    print(f"{statistics.median(times):.2f}")


main()
