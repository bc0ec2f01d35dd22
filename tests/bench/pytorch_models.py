"""The variants in PyTorch, for comparison: one module a variant, [B, T, C] to [B, T, C].

Each stands here as it was published: Transformer-XL's einsums over [T, B, H, D], labml's shift over twice the
length, Shaw's dense [T, T, D] tensors, windows through PyTorch's recurrent nets. Beside it, with the same
parameters and the same results, stands the fastest form that we know.
"""
import math

import torch
from torch import nn
from torch.nn import functional


def causal_mask(queries, keys):
    """[T, K], true = hidden."""
    return torch.ones(queries, keys, dtype=torch.bool).triu(1 + keys - queries)


def split_heads(x, heads):
    return x.unflatten(2, (heads, -1)).transpose(1, 2)  # [B, H, T, D]


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)  # [B, T, C]


def skew(by_distance):
    """[B, H, T, K] by distance, the farthest first and 0 last, to the same by key."""
    batch, heads, length, keys = by_distance.shape
    padded = functional.pad(by_distance, (1, 0)).view(batch, heads, keys + 1, length)
    return padded[:, :, 1:].view(batch, heads, length, keys)


def attention_over_bias(query, key, value, by_distance, mask):
    """softmax((q kᵀ + skewed by_distance) / √D) v by scaled_dot_product_attention over a dense bias."""
    bias = (skew(by_distance) / math.sqrt(query.size(-1))).masked_fill(mask, -float("inf"))
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)


class FusedAttention(nn.Module):
    """Plain causal attention by scaled_dot_product_attention."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(merge_heads(mixed))


class ModuleAttention(nn.Module):
    """Plain causal attention by nn.MultiheadAttention."""

    def __init__(self, width, heads, length):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.register_buffer("mask", causal_mask(length, length))

    def forward(self, x):
        return self.attention(
            x, x, x, attn_mask=self.mask, need_weights=False, is_causal=True
        )[0]


class TransformerXLAttention(nn.Module):
    """The paper's code (RelPartialLearnableMultiHeadAttn): einsums, pad and view. [T, B, C]."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.position = nn.Linear(width, width, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, self.size))
        self.position_bias = nn.Parameter(torch.zeros(heads, self.size))

    @staticmethod
    def rel_shift(x):
        zero = x.new_zeros((x.size(0), 1, *x.size()[2:]))
        padded = torch.cat([zero, x], dim=1)
        return padded.view(x.size(1) + 1, x.size(0), *x.size()[2:])[1:].view_as(x)

    def forward(self, x, memory, sinusoids, mask):
        length, batch = x.size(0), x.size(1)
        heads = self.qkv(torch.cat([memory, x]))
        query, key, value = torch.chunk(heads, 3, dim=-1)
        query = query[-length:]
        keys = key.size(0)
        query = query.view(length, batch, self.heads, self.size)
        key = key.view(keys, batch, self.heads, self.size)
        value = value.view(keys, batch, self.heads, self.size)
        relative = self.position(sinusoids).view(keys, self.heads, self.size)
        content = torch.einsum("ibnd,jbnd->ijbn", query + self.content_bias, key)
        by_position = torch.einsum("ibnd,jnd->ijbn", query + self.position_bias, relative)
        scores = (content + self.rel_shift(by_position)) / math.sqrt(self.size)
        scores = scores.masked_fill(mask[:, :, None, None], -float("inf"))
        mixed = torch.einsum("ijbn,jbnd->ibnd", functional.softmax(scores, dim=1), value)
        return self.output(mixed.reshape(length, batch, -1))


class TransformerXLOverBias(TransformerXLAttention):
    def forward(self, x, memory, sinusoids, mask):
        heads = self.qkv(torch.cat([memory, x])).transpose(0, 1)
        query, key, value = (split_heads(part, self.heads) for part in heads.chunk(3, 2))
        query = query[:, :, -x.size(0):]
        relative = self.position(sinusoids).unflatten(1, (self.heads, -1)).permute(1, 2, 0)  # [H, D, K]
        by_distance = (query + self.position_bias[:, None]) @ relative
        mixed = attention_over_bias(query + self.content_bias[:, None], key, value, by_distance, mask)
        return self.output(merge_heads(mixed)).transpose(0, 1)


class LabmlAttention(nn.Module):
    """labml's RelativeMultiHeadAttention: scores of 2T distances, shifted right. [T, B, C] inside."""

    def __init__(self, width, heads, length):
        super().__init__()
        self.heads, self.size, self.limit = heads, width // heads, length
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.value_bias = nn.Parameter(torch.zeros(width))
        self.output = nn.Linear(width, width)
        self.key_pos_embeddings = nn.Parameter(0.02 * torch.randn(2 * length, heads, self.size))
        self.key_pos_bias = nn.Parameter(torch.zeros(2 * length, heads))
        self.query_pos_bias = nn.Parameter(torch.zeros(heads, self.size))
        self.register_buffer("mask", causal_mask(length, length))

    @staticmethod
    def shift_right(x):
        padded = torch.cat([x, x.new_zeros(x.shape[0], 1, *x.shape[2:])], dim=1)
        return padded.reshape(x.shape[1] + 1, x.shape[0], *x.shape[2:])[:-1].view_as(x)

    def forward(self, x):
        x = x.transpose(0, 1)
        length, batch, _ = x.shape
        query, key, value = (
            part.view(length, batch, self.heads, self.size) for part in self.qkv(x).chunk(3, 2)
        )
        value = value + self.value_bias.view(self.heads, self.size)
        rows = slice(self.limit - length, self.limit + length)
        content = torch.einsum("ibhd,jbhd->ijbh", query + self.query_pos_bias, key)
        by_distance = torch.einsum("ibhd,jhd->ijbh", query, self.key_pos_embeddings[rows])
        by_distance = by_distance + self.key_pos_bias[rows][None, :, None, :]
        scores = content + self.shift_right(by_distance)[:, -length:]
        scores = (scores / math.sqrt(self.size)).masked_fill(
            self.mask[:, :, None, None], -float("inf")
        )
        mixed = torch.einsum("ijbh,jbhd->ibhd", scores.softmax(1), value)
        return self.output(mixed.reshape(length, batch, -1)).transpose(0, 1)


class LabmlOverBias(LabmlAttention):
    """Of the distances, those that a query sees."""

    def forward(self, x):
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        value = value + self.value_bias.view(self.heads, 1, self.size)
        rows = slice(self.limit - x.size(1) + 1, self.limit + 1)
        by_distance = query @ self.key_pos_embeddings[rows].permute(1, 2, 0)
        by_distance = by_distance + self.key_pos_bias[rows].t()[:, None]
        mixed = attention_over_bias(query + self.query_pos_bias[:, None], key, value, by_distance, self.mask)
        return self.output(merge_heads(mixed))


class MusicAttention(nn.Module):
    """Music Transformer's skewing with batched products."""

    def __init__(self, width, heads, length):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.past_embeddings = nn.Parameter(0.02 * torch.randn(heads, length, self.size))
        self.past_bias = nn.Parameter(torch.zeros(heads, length))
        self.register_buffer("mask", causal_mask(length, length))

    def forward(self, x):
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        by_distance = query @ self.past_embeddings.transpose(1, 2) + self.past_bias[:, None]
        return self.output(merge_heads(self.mixed(query, key, value, by_distance)))

    def mixed(self, query, key, value, by_distance):
        scores = (query @ key.transpose(2, 3) + skew(by_distance)) / math.sqrt(self.size)
        return scores.masked_fill(self.mask, -float("inf")).softmax(3) @ value


class MusicOverBias(MusicAttention):
    def mixed(self, query, key, value, by_distance):
        return attention_over_bias(query, key, value, by_distance, self.mask)


class ShawAttention(nn.Module):
    """Shaw's clipped distances with dense [T, T, D] tensors, as the paper's section 3.3 has them."""

    def __init__(self, width, heads, length, distance):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.keys = nn.Parameter(0.02 * torch.randn(2 * distance + 1, self.size))
        self.values = nn.Parameter(0.02 * torch.randn(2 * distance + 1, self.size))
        position = torch.arange(length)
        self.register_buffer(
            "row", (position[None] - position[:, None]).clamp(-distance, distance) + distance
        )
        self.register_buffer("mask", causal_mask(length, length))

    def forward(self, x):
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        a, b = self.keys[self.row], self.values[self.row]  # [T, T, D]
        scores = query @ key.transpose(2, 3) + torch.einsum("bhid,ijd->bhij", query, a)
        p = (scores / math.sqrt(self.size)).masked_fill(self.mask, -float("inf")).softmax(3)
        return self.output(merge_heads(p @ value + torch.einsum("bhij,ijd->bhid", p, b)))


class ShawByBuckets(ShawAttention):
    """Products with the rows of the tables alone, gathered by distance, and p summed by distance."""

    def forward(self, x):
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        row = self.row.expand(x.size(0), self.heads, -1, -1)  # [B, H, T, T]
        by_row = query @ self.keys.t()  # [B, H, T, 2k + 1]
        scores = query @ key.transpose(2, 3) + by_row.gather(3, row)
        p = (scores / math.sqrt(self.size)).masked_fill(self.mask, -float("inf")).softmax(3)
        buckets = torch.zeros_like(by_row, dtype=p.dtype).scatter_add(3, row, p)
        return self.output(merge_heads(p @ value + buckets.to(value.dtype) @ self.values))


class AftLocal(nn.Module):
    """AFT-local as products with the exponentials of all position biases."""

    def __init__(self, width, length, window):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.position_bias = nn.Parameter(0.02 * torch.randn(length, length))
        position = torch.arange(length)
        near = (position[:, None] - position[None]).abs() < window
        self.register_buffer("near", near)
        self.register_buffer("visible", ~causal_mask(length, length))

    def forward(self, x):
        query, key, value = self.qkv(x).chunk(3, 2)
        weight = (self.position_bias * self.near).exp() * self.visible  # [T, T]
        exp_key = (key - key.amax(1, keepdim=True)).exp()
        mixed = (weight @ (exp_key * value)) / (weight @ exp_key)
        return self.output(query.sigmoid() * mixed)


class LocalRnn(nn.Module):
    """R-Transformer's LocalRNN: all windows side by side through PyTorch's recurrent net."""

    def __init__(self, width, window, cell):
        super().__init__()
        self.window, self.cell = window, cell
        self.net = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[cell](
            width, width, batch_first=True
        )

    def forward(self, x):
        padded = functional.pad(x, (0, 0, self.window - 1, 0))
        windows = padded.unfold(1, self.window, 1).transpose(2, 3)  # [B, T, s, C]
        _, last = self.net(windows.flatten(0, 1))
        hidden = last[0] if self.cell == "lstm" else last
        return hidden.view_as(x)


class LocalRnnByStep(LocalRnn):
    """Each token projected once, and all windows a step further at a time."""

    def step(self, projected, hidden, state):
        again = functional.linear(hidden, self.net.weight_hh_l0, self.net.bias_hh_l0)
        if self.cell == "rnn":
            return (projected + again).tanh(), state
        if self.cell == "gru":
            (r, z, n), (again_r, again_z, again_n) = projected.chunk(3, 2), again.chunk(3, 2)
            z = (z + again_z).sigmoid()
            n = (n + (r + again_r).sigmoid() * again_n).tanh()
            return n + z * (hidden - n), state
        i, f, g, o = (projected + again).chunk(4, 2)
        state = f.sigmoid() * state + i.sigmoid() * g.tanh()
        return o.sigmoid() * state.tanh(), state

    def forward(self, x):
        padded = functional.pad(x, (0, 0, self.window - 1, 0))
        projected = functional.linear(padded, self.net.weight_ih_l0, self.net.bias_ih_l0)
        hidden = state = torch.zeros_like(x)
        for first in range(self.window):
            hidden, state = self.step(projected[:, first : first + x.size(1)], hidden, state)
        return hidden


class FeedForward(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


class Transformer(nn.Module):
    """nanoGPT's model: norms first, learned positions, tied embedding."""

    def __init__(self, vocabulary, width, layers, heads, length):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(
            nn.ModuleList(
                [nn.LayerNorm(width), FusedAttention(width, heads)]
                + [nn.LayerNorm(width), FeedForward(width)]
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position
        for mixer_norm, mixer, norm, feed_forward in self.blocks:
            x = x + mixer(mixer_norm(x))
            x = x + feed_forward(norm(x))
        return functional.linear(self.norm(x), self.embedding.weight)


class TransformerXL(nn.Module):
    """The same blocks around a form of Transformer-XL's attention, with its memory. [T, B, C] inside."""

    def __init__(self, attention, vocabulary, width, layers, heads, memory):
        super().__init__()
        self.memory = memory
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(
            nn.ModuleList(
                [nn.LayerNorm(width), attention(width, heads)]
                + [nn.LayerNorm(width), FeedForward(width)]
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        frequency = 1 / 10000 ** (torch.arange(0.0, width, 2.0) / width)
        self.register_buffer("frequency", frequency)

    def forward(self, tokens, memories):
        x = self.embedding(tokens.t())
        keys = x.size(0) + memories[0].size(0)
        angle = torch.arange(keys - 1, -1, -1.0)[:, None] * self.frequency
        sinusoids = torch.cat([angle.sin(), angle.cos()], dim=1)
        mask = causal_mask(x.size(0), keys)
        remembered = []
        for (mixer_norm, mixer, norm, feed_forward), memory in zip(self.blocks, memories):
            remembered.append(torch.cat([memory, x])[-self.memory :].detach())
            x = x + mixer(mixer_norm(x), mixer_norm(memory), sinusoids, mask)
            x = x + feed_forward(norm(x))
        return functional.linear(self.norm(x), self.embedding.weight).transpose(0, 1), remembered


class EncoderDecoder(nn.Module):
    """nn.Transformer between embeddings with sinusoids, norms first."""

    def __init__(self, vocabulary, width, layers, heads, longest=128):
        super().__init__()
        self.source = nn.Embedding(vocabulary, width)
        self.target = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(
            width, heads, layers, layers, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.output = nn.Linear(width, vocabulary)
        frequencies = 10000.0 ** (-torch.arange(0, width, 2) / width)
        angles = torch.arange(longest)[:, None] * frequencies
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], dim=1))

    def embed(self, table, tokens):
        return table(tokens) * table.embedding_dim**0.5 + self.positions[: tokens.size(1)]

    def encode(self, source):
        return self.transformer.encoder(self.embed(self.source, source))

    def decode(self, target, memory):
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        hidden = self.transformer.decoder(
            self.embed(self.target, target), memory, tgt_mask=mask, tgt_is_causal=True
        )
        return self.output(hidden)

    def forward(self, source, target):
        return self.decode(target, self.encode(source))
