"""The cases of bench.cpp in PyTorch, under the same names; times are in milliseconds."""
import dataclasses
import time

import torch
from torch import nn
from torch.nn import functional

import pytorch_models as models

VOCABULARY = 96
LENGTHS = {"T256 B8": (256, 8), "T1024 B2": (1024, 2)}
WIDTH, HEADS = 256, 4


PUBLISHED = "as published"


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to run a model: op by op or compiled, in floats or with products in bfloat16."""

    compiled: bool
    bfloat16: bool

    def __str__(self):
        return ("compiled" if self.compiled else "eager") + (", bfloat16" if self.bfloat16 else "")

    def prepare(self, function):
        return torch.compile(function) if self.compiled else function

    def precision(self):
        return torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16)


WAYS = [Way(compiled, bfloat16) for bfloat16 in (False, True) for compiled in (False, True)]


def update(model, optimizer, loss):
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def transformer_step(way, layers, heads, width, length, batch):
    text = torch.randint(VOCABULARY, (400_000,))
    model = models.Transformer(VOCABULARY, width, layers, heads, length)
    run = way.prepare(model)
    optimizer = torch.optim.AdamW(
        model.parameters(), 1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True
    )

    def step():
        starts = torch.randint(len(text) - length - 1, (batch,))
        rows = torch.stack([text[start : start + length + 1] for start in starts])
        with way.precision():
            logits = run(rows[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        update(model, optimizer, loss)

    return step


def transformer_xl_step(way, attention, layers, heads, width, length, batch):
    text = torch.randint(VOCABULARY, (batch, 400_000 // batch))
    model = models.TransformerXL(attention, VOCABULARY, width, layers, heads, length)
    run = way.prepare(model)
    optimizer = torch.optim.AdamW(
        model.parameters(), 1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True
    )
    memory = [torch.zeros(length, batch, width) for _ in range(layers)]
    state = {"memory": memory, "position": 0}

    def step():
        begin = state["position"]
        if begin + length + 1 > text.size(1):
            begin = 0
        state["position"] = begin + length
        rows = text[:, begin : begin + length + 1]
        with way.precision():
            logits, state["memory"] = run(rows[:, :-1], state["memory"])
            loss = functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        update(model, optimizer, loss)

    return step


def pair_step(way, layers, heads, width, length, batch):
    model = models.EncoderDecoder(VOCABULARY, width, layers, heads)
    run = way.prepare(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.98), fused=True)
    sources = torch.randint(2, VOCABULARY, (20 * batch, length))
    targets = torch.randint(2, VOCABULARY, (20 * batch, length + 2))

    def step():
        rows = torch.randperm(len(sources))[:batch]
        with way.precision():
            logits = run(sources[rows], targets[rows, :-1])
            loss = functional.cross_entropy(
                logits.flatten(0, 1),
                targets[rows, 1:].flatten(),
                label_smoothing=0.1,
                ignore_index=-1,
            )
        update(model, optimizer, loss)

    return step


def beam_search(way, layers, heads, width, length, batch, beam, tokens):
    """No target ends early. nn.Transformer keeps no state: every step decodes the targets so far."""
    model = models.EncoderDecoder(VOCABULARY, width, layers, heads).eval()
    encode, decode = way.prepare(model.encode), way.prepare(model.decode)
    source = torch.randint(2, VOCABULARY, (batch, length))
    first_rows = torch.arange(batch)[:, None] * beam

    @torch.inference_mode()
    def step():
        with way.precision():
            memory = encode(source).repeat_interleave(beam, dim=0)
            targets = torch.zeros(batch * beam, 1, dtype=torch.long)
            scores = torch.full((batch, beam), float("-inf"))
            scores[:, 0] = 0
            for _ in range(tokens):
                logits = decode(targets, memory)[:, -1].float()
                logits[:, 1] = -1e9
                total = scores[:, :, None] + logits.log_softmax(-1).unflatten(0, (batch, beam))
                scores, best = total.flatten(1).topk(beam)
                rows = (first_rows + best // VOCABULARY).flatten()
                targets = torch.cat([targets[rows], best.flatten()[:, None] % VOCABULARY], dim=1)

    return step


def layer_step(way, make, length, batch):
    model = make(length)
    run = way.prepare(model)
    x = torch.randn(batch, length, WIDTH, requires_grad=True)
    cotangent = torch.randn(batch, length, WIDTH)

    def step():
        x.grad = None
        model.zero_grad(set_to_none=True)
        with way.precision():
            y = run(x)
        y.backward(cotangent.to(y.dtype))

    return step


# The forms of a variant, by name: as published, and the fastest that we know, if that is another one.
OVER_BIAS = "SDPA over a bias"
TRANSFORMER_XL = {PUBLISHED: models.TransformerXLAttention, OVER_BIAS: models.TransformerXLOverBias}
LAYERS = {
    "attention": {
        PUBLISHED: lambda length: models.ModuleAttention(WIDTH, HEADS, length),
        "SDPA": lambda length: models.FusedAttention(WIDTH, HEADS),
    },
    "labml": {
        PUBLISHED: lambda length: models.LabmlAttention(WIDTH, HEADS, length),
        OVER_BIAS: lambda length: models.LabmlOverBias(WIDTH, HEADS, length),
    },
    "music": {
        PUBLISHED: lambda length: models.MusicAttention(WIDTH, HEADS, length),
        OVER_BIAS: lambda length: models.MusicOverBias(WIDTH, HEADS, length),
    },
    "shaw k16": {
        PUBLISHED: lambda length: models.ShawAttention(WIDTH, HEADS, length, 16),
        "gathered": lambda length: models.ShawByBuckets(WIDTH, HEADS, length, 16),
    },
    "aft local s32": {PUBLISHED: lambda length: models.AftLocal(WIDTH, length, 32)},
}
for cell in ("rnn", "gru", "lstm"):
    LAYERS[f"local_rnn s7 {cell}"] = {
        PUBLISHED: lambda length, cell=cell: models.LocalRnn(WIDTH, 7, cell),
        "step by step": lambda length, cell=cell: models.LocalRnnByStep(WIDTH, 7, cell),
    }


def cases():
    """Name of a case in bench.cpp: for each form, a function that makes a step in the way that it is given."""
    table = {}
    for shape in [(4, 4, 128, 64, 12), (6, 6, 384, 256, 8)]:
        layers, heads, width, length, batch = shape
        name = f"transformer L{layers} H{heads} d{width} T{length} B{batch}"
        table[name] = {PUBLISHED: lambda way, shape=shape: transformer_step(way, *shape)}
    for shape in [(4, 4, 128, 64, 12), (4, 4, 256, 128, 16), (4, 4, 256, 256, 16), (6, 6, 384, 256, 8)]:
        layers, heads, width, length, batch = shape
        name = f"transformer_xl L{layers} H{heads} d{width} T{length} M{length} B{batch}"
        table[name] = {form: lambda way, attention=attention, shape=shape: transformer_xl_step(way, attention, *shape)
                       for form, attention in TRANSFORMER_XL.items()}
    table["encoder_decoder L3+3 H4 d256 S64 T65 B32"] = {
        PUBLISHED: lambda way: pair_step(way, 3, 4, 256, 64, 32)
    }
    table["beam 4 L3+3 H4 d256 S64, 50 tokens, B32"] = {
        PUBLISHED: lambda way: beam_search(way, 3, 4, 256, 64, 32, 4, 50)
    }
    for name, forms in LAYERS.items():
        for size, shape in LENGTHS.items():
            table[f"{name} {size}"] = {form: lambda way, make=make, shape=shape: layer_step(way, make, *shape)
                                       for form, make in forms.items()}
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
