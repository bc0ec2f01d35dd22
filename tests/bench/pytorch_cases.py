"""The cases of bench.cpp in PyTorch, under the same names; times are in milliseconds."""
import dataclasses

import torch
from torch import nn
from torch.nn import functional

import fast_forms
import pytorch_models as models

VOCABULARY = 96
LENGTHS = {"T256 B8": (256, 8), "T1024 B2": (1024, 2)}
WIDTH, HEADS = 256, 4
PUBLISHED, CACHED, IN_BLOCKS, BLOCK_SUMS = "as published", "with a cache", "in blocks", "sums of blocks"


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


def language_loss(logits, wanted):
    return functional.cross_entropy(logits.flatten(0, 1), wanted.flatten())


def adamw(model, betas, **config):
    return torch.optim.AdamW(model.parameters(), 1e-3, betas=betas, fused=True, **config)


def transformer_step(way, layers, heads, width, length, batch):
    text = torch.randint(VOCABULARY, (400_000,))
    model = models.Transformer(VOCABULARY, width, layers, heads, length)
    run = way.prepare(lambda rows: language_loss(model(rows[:, :-1]), rows[:, 1:]))
    optimizer = adamw(model, (0.9, 0.99), weight_decay=0.1)

    def step():
        starts = torch.randint(len(text) - length - 1, (batch,))
        rows = torch.stack([text[start : start + length + 1] for start in starts])
        with way.precision():
            loss = run(rows)
        update(model, optimizer, loss)

    return step


def transformer_xl_step(way, attention, layers, heads, width, length, batch):
    text = torch.randint(VOCABULARY, (batch, 400_000 // batch))
    model = models.TransformerXL(attention, VOCABULARY, width, layers, heads, length)

    def loss_and_memory(rows, memory):
        logits, memory = model(rows[:, :-1], memory)
        return language_loss(logits, rows[:, 1:]), memory

    run = way.prepare(loss_and_memory)
    optimizer = adamw(model, (0.9, 0.99), weight_decay=0.1)
    shape = (batch, length, width) if attention.batch_first else (length, batch, width)
    state = {"memory": [torch.zeros(shape) for _ in range(layers)], "position": 0}

    def step():
        begin = state["position"]
        if begin + length + 1 > text.size(1):
            begin = 0
        state["position"] = begin + length
        rows = text[:, begin : begin + length + 1]
        with way.precision():
            loss, state["memory"] = run(rows, state["memory"])
        update(model, optimizer, loss)

    return step


def pair_step(way, make, layers, heads, width, length, batch):
    model = make(VOCABULARY, width, layers, heads)

    def loss(sources, targets):
        logits = model(sources, targets[:, :-1]).flatten(0, 1)
        return functional.cross_entropy(logits, targets[:, 1:].flatten(), label_smoothing=0.1, ignore_index=-1)

    run = way.prepare(loss)
    optimizer = adamw(model, (0.9, 0.98))
    sources = torch.randint(2, VOCABULARY, (20 * batch, length))
    targets = torch.randint(2, VOCABULARY, (20 * batch, length + 2))

    def step():
        rows = torch.randperm(len(sources))[:batch]
        with way.precision():
            loss = run(sources[rows], targets[rows])
        update(model, optimizer, loss)

    return step


@torch.inference_mode()
def beam_search(logits_of, batch, beam, tokens):
    """The targets of `batch` sources, [batch * beam, 1 + tokens], none of which ends early.

    logits_of(targets, rows) has logits behind targets, which go on from the rows of the call before."""
    targets, rows = torch.zeros(batch * beam, 1, dtype=torch.long), torch.arange(batch * beam)
    first_rows = rows[::beam, None]
    scores = torch.full((batch, beam), float("-inf"))
    scores[:, 0] = 0
    for _ in range(tokens):
        logits = logits_of(targets, rows).float()
        logits[:, 1] = -1e9
        total = scores[:, :, None] + logits.log_softmax(-1).unflatten(0, (batch, beam))
        scores, best = total.flatten(1).topk(beam)
        rows = (first_rows + best // VOCABULARY).flatten()
        targets = torch.cat([targets[rows], best.flatten()[:, None] % VOCABULARY], dim=1)
    return targets


def without_cache(way, model, source, beam, tokens):
    """nn.Transformer keeps no state: every step decodes the targets so far."""
    encode, decode = way.prepare(model.encode), way.prepare(model.decode)

    @torch.inference_mode()
    def step():
        with way.precision():
            memory = encode(source).repeat_interleave(beam, dim=0)
            return beam_search(lambda targets, rows: decode(targets, memory)[:, -1], len(source), beam, tokens)

    return step


def with_cache(way, model, source, beam, tokens):
    encode, decode = way.prepare(lambda source: model.sources(model.encode(source))), way.prepare(model.step)
    layers, attention = len(model.transformer.decoder.layers), model.transformer.decoder.layers[0].self_attn
    shape = (layers, 2, len(source) * beam, attention.num_heads, tokens, attention.head_dim)
    cache = torch.empty(shape, dtype=torch.bfloat16 if way.bfloat16 else model.output.weight.dtype)

    @torch.inference_mode()
    def step():
        with way.precision():
            sources = encode(source)

            def logits_of(targets, rows):
                return decode(targets[:, -1], rows, targets.size(1) - 1, cache, sources)

            return beam_search(logits_of, len(source), beam, tokens)

    return step


DECODINGS = {PUBLISHED: (models.EncoderDecoder, without_cache), CACHED: (fast_forms.EncoderDecoder, with_cache)}


def beam_step(way, form, layers, heads, width, length, batch, beam, tokens):
    make, search = DECODINGS[form]
    model = make(VOCABULARY, width, layers, heads).eval()
    return search(way, model, torch.randint(2, VOCABULARY, (batch, length)), beam, tokens)


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
TRANSFORMER_XL = {PUBLISHED: models.TransformerXLAttention, IN_BLOCKS: fast_forms.TransformerXLAttention}
LAYERS = {
    "attention": {
        PUBLISHED: lambda length: models.ModuleAttention(WIDTH, HEADS, length),
        "SDPA": lambda length: models.FusedAttention(WIDTH, HEADS),
    },
    "labml": {
        PUBLISHED: lambda length: models.LabmlAttention(WIDTH, HEADS, length),
        IN_BLOCKS: lambda length: fast_forms.LabmlAttention(WIDTH, HEADS, length),
    },
    "music": {
        PUBLISHED: lambda length: models.MusicAttention(WIDTH, HEADS, length),
        IN_BLOCKS: lambda length: fast_forms.MusicAttention(WIDTH, HEADS, length),
    },
    "shaw k16": {
        PUBLISHED: lambda length: models.ShawAttention(WIDTH, HEADS, length, 16),
        "gathered, " + IN_BLOCKS: lambda length: fast_forms.ShawByBuckets(WIDTH, HEADS, length, 16),
        "skewed, " + IN_BLOCKS: lambda length: fast_forms.ShawAttention(WIDTH, HEADS, length, 16),
    },
    "aft full": {
        PUBLISHED: lambda length: models.AftTable(WIDTH, length),
        IN_BLOCKS: lambda length: fast_forms.AftTableInBlocks(WIDTH, length),
    },
    "aft full r64": {
        PUBLISHED: lambda length: models.AftTable(WIDTH, length, rank=64),
        IN_BLOCKS: lambda length: fast_forms.AftTableInBlocks(WIDTH, length, rank=64),
    },
    "aft local s32": {
        PUBLISHED: lambda length: models.AftTable(WIDTH, length, 32),
        IN_BLOCKS: lambda length: fast_forms.AftTableInBlocks(WIDTH, length, 32),
        BLOCK_SUMS: lambda length: fast_forms.AftLocal(WIDTH, length, 32),
    },
    "aft local s32 r64": {
        PUBLISHED: lambda length: models.AftTable(WIDTH, length, 32, rank=64),
        BLOCK_SUMS: lambda length: fast_forms.AftLocal(WIDTH, length, 32, rank=64),
    },
    "aft simple": {
        PUBLISHED: lambda length: models.AftSimple(WIDTH),
        BLOCK_SUMS: lambda length: fast_forms.AftSimple(WIDTH),
    },
    "aft conv s11": {
        PUBLISHED: lambda length: models.AftConv(WIDTH, HEADS, 11),
        BLOCK_SUMS: lambda length: fast_forms.AftConv(WIDTH, HEADS, 11),
    },
}
for cell in ("rnn", "gru", "lstm"):
    LAYERS[f"local_rnn s7 {cell}"] = {
        PUBLISHED: lambda length, cell=cell: models.LocalRnn(WIDTH, 7, cell),
        "step by step": lambda length, cell=cell: fast_forms.LocalRnn(WIDTH, 7, cell),
    }
# Their time hardly depends on T, or is much like that of another form.
AT_1024 = {name for name in LAYERS if name.startswith(("aft", "local_rnn"))} - {"aft local s32"}


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
    pairs = {PUBLISHED: models.EncoderDecoder, "SDPA": fast_forms.EncoderDecoder}
    table["encoder_decoder L3+3 H4 d256 S64 T65 B32"] = {
        form: lambda way, make=make: pair_step(way, make, 3, 4, 256, 64, 32) for form, make in pairs.items()
    }
    table["beam 4 L3+3 H4 d256 S64, 50 tokens, B32"] = {
        form: lambda way, form=form: beam_step(way, form, 3, 4, 256, 64, 32, 4, 50) for form in DECODINGS
    }
    for name, forms in LAYERS.items():
        for size, shape in LENGTHS.items():
            if size == "T256 B8" and name in AT_1024:
                continue
            table[f"{name} {size}"] = {form: lambda way, make=make, shape=shape: layer_step(way, make, *shape)
                                       for form, make in forms.items()}
    return table
