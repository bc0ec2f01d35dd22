"""The cases of bench.cpp in PyTorch, under the same names; times are in milliseconds."""
import time

import torch
from torch import nn
from torch.nn import functional

import pytorch_models as models

VOCABULARY = 96
LENGTHS = {"T256 B8": (256, 8), "T1024 B2": (1024, 2)}
WIDTH, HEADS = 256, 4


def transformer_step(layers, heads, width, length, batch, compiled=False):
    text = torch.randint(VOCABULARY, (400_000,))
    model = models.Transformer(VOCABULARY, width, layers, heads, length)
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(
        model.parameters(), 1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True
    )

    def step():
        starts = torch.randint(len(text) - length - 1, (batch,))
        rows = torch.stack([text[start : start + length + 1] for start in starts])
        logits = run(rows[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def transformer_xl_step(layers, heads, width, length, batch):
    text = torch.randint(VOCABULARY, (batch, 400_000 // batch))
    model = models.TransformerXL(VOCABULARY, width, layers, heads, length)
    optimizer = torch.optim.AdamW(
        model.parameters(), 1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True
    )
    state = {"memory": [torch.zeros(length, batch, width)] * layers, "position": 0}

    def step():
        begin = state["position"]
        if begin + length + 1 > text.size(1):
            begin = 0
        state["position"] = begin + length
        rows = text[:, begin : begin + length + 1]
        logits, state["memory"] = model(rows[:, :-1], state["memory"])
        loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def pair_step(layers, heads, width, length, batch):
    model = models.EncoderDecoder(VOCABULARY, width, layers, heads)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.98), fused=True)
    sources = torch.randint(2, VOCABULARY, (20 * batch, length))
    targets = torch.randint(2, VOCABULARY, (20 * batch, length + 2))

    def step():
        rows = torch.randperm(len(sources))[:batch]
        logits = model(sources[rows], targets[rows, :-1])
        loss = functional.cross_entropy(
            logits.flatten(0, 1), targets[rows, 1:].flatten(), label_smoothing=0.1, ignore_index=-1
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def beam_search(layers, heads, width, length, batch, beam, tokens):
    """No target ends early. nn.Transformer keeps no state: every step decodes the targets so far."""
    model = models.EncoderDecoder(VOCABULARY, width, layers, heads).eval()
    source = torch.randint(2, VOCABULARY, (batch, length))
    first_rows = torch.arange(batch)[:, None] * beam

    @torch.inference_mode()
    def step():
        memory = model.encode(source).repeat_interleave(beam, dim=0)
        targets = torch.zeros(batch * beam, 1, dtype=torch.long)
        scores = torch.full((batch, beam), float("-inf"))
        scores[:, 0] = 0
        for _ in range(tokens):
            logits = model.decode(targets, memory)[:, -1]
            logits[:, 1] = -1e9
            total = scores[:, :, None] + logits.log_softmax(-1).unflatten(0, (batch, beam))
            scores, best = total.flatten(1).topk(beam)
            rows = (first_rows + best // VOCABULARY).flatten()
            targets = torch.cat([targets[rows], best.flatten()[:, None] % VOCABULARY], dim=1)

    return step


def layer(make, length, batch):
    model = make(length)
    x = torch.randn(batch, length, WIDTH, requires_grad=True)
    cotangent = torch.randn(batch, length, WIDTH)

    def run():
        x.grad = None
        model.zero_grad(set_to_none=True)
        model(x).backward(cotangent)

    return run


LAYERS = {
    "attention": lambda length: models.ModuleAttention(WIDTH, HEADS, length),
    "labml": lambda length: models.LabmlAttention(WIDTH, HEADS, length),
    "music": lambda length: models.MusicAttention(WIDTH, HEADS, length),
    "shaw k16": lambda length: models.ShawAttention(WIDTH, HEADS, length, 16),
    "aft local s32": lambda length: models.AftLocal(WIDTH, length, 32),
    "local_rnn s7 rnn": lambda length: models.LocalRnn(WIDTH, 7, "rnn"),
    "local_rnn s7 gru": lambda length: models.LocalRnn(WIDTH, 7, "gru"),
    "local_rnn s7 lstm": lambda length: models.LocalRnn(WIDTH, 7, "lstm"),
}


def cases():
    """Name of a case in bench.cpp: the forms to compare with, each a function that makes a step."""
    table = {}
    for shape in [(4, 4, 128, 64, 12), (6, 6, 384, 256, 8)]:
        layers, heads, width, length, batch = shape
        table[f"transformer L{layers} H{heads} d{width} T{length} B{batch}"] = {
            "eager": lambda shape=shape: transformer_step(*shape),
            "compiled": lambda shape=shape: transformer_step(*shape, compiled=True),
        }
    for shape in [(4, 4, 128, 64, 12), (4, 4, 256, 128, 16), (4, 4, 256, 256, 16), (6, 6, 384, 256, 8)]:
        layers, heads, width, length, batch = shape
        name = f"transformer_xl L{layers} H{heads} d{width} T{length} M{length} B{batch}"
        table[name] = {"einsum": lambda shape=shape: transformer_xl_step(*shape)}
    table["encoder_decoder L3+3 H4 d256 S64 T65 B32"] = {
        "nn.Transformer": lambda: pair_step(3, 4, 256, 64, 32)
    }
    table["beam 4 L3+3 H4 d256 S64, 50 tokens, B32"] = {
        "nn.Transformer": lambda: beam_search(3, 4, 256, 64, 32, 4, 50)
    }
    for name, make in LAYERS.items():
        for size, (length, batch) in LENGTHS.items():
            table[f"{name} {size}"] = {
                "eager": lambda make=make, length=length, batch=batch: layer(make, length, batch)
            }
    return table


def timed(step, runs):
    """Milliseconds of each of `runs` steps, sorted, after three that are not counted."""
    for _ in range(3):
        step()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return sorted(times)
