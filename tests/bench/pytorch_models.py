"""The variants in PyTorch, for comparison: one module a variant, [B, T, C] to [B, T, C].

Each stands here as it was published: Transformer-XL's einsums over [T, B, H, D], labml's shift over twice the
length, Shaw's dense [T, T, D] tensors, windows through PyTorch's recurrent nets. fast_forms.py has the fastest form
that we know of each, with the same parameters and the same results. Parameters have the names that ours have.
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

    batch_first = False

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
        scores = (query @ key.transpose(2, 3) + skew(by_distance)) / math.sqrt(self.size)
        p = scores.masked_fill(self.mask, -float("inf")).softmax(3)
        return self.output(merge_heads(p @ value))


class ShawAttention(nn.Module):
    """Shaw's clipped distances with dense [T, T, D] tensors, as the paper's section 3.3 has them."""

    def __init__(self, width, heads, length, distance):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.key_distance_embeddings = nn.Parameter(0.02 * torch.randn(2 * distance + 1, self.size))
        self.value_distance_embeddings = nn.Parameter(0.02 * torch.randn(2 * distance + 1, self.size))
        position = torch.arange(length)
        self.register_buffer(
            "row", (position[None] - position[:, None]).clamp(-distance, distance) + distance
        )
        self.register_buffer("mask", causal_mask(length, length))

    def forward(self, x):
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        a, b = self.key_distance_embeddings[self.row], self.value_distance_embeddings[self.row]  # [T, T, D]
        scores = query @ key.transpose(2, 3) + torch.einsum("bhid,ijd->bhij", query, a)
        p = (scores / math.sqrt(self.size)).masked_fill(self.mask, -float("inf")).softmax(3)
        return self.output(merge_heads(p @ value + torch.einsum("bhij,ijd->bhid", p, b)))


class AftTable(nn.Module):
    """AFT-full and, with a window, AFT-local, as products with the exponentials of all position biases."""

    def __init__(self, width, length, window=None, rank=0):
        super().__init__()
        self.window, self.rank = window, rank
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        if rank:
            self.position_bias_query = nn.Parameter(0.02 * torch.randn(length, rank))
            self.position_bias_key = nn.Parameter(0.02 * torch.randn(length, rank))
        else:
            self.position_bias = nn.Parameter(0.02 * torch.randn(length, length))
        position = torch.arange(length)
        if window:
            self.register_buffer("near", (position[:, None] - position).abs() < window)
        self.register_buffer("visible", ~causal_mask(length, length))

    def biases(self, queries=slice(None), keys=slice(None)):
        """w of these queries and keys, [T, K]."""
        if self.rank:
            w = self.position_bias_query[queries] @ self.position_bias_key[keys].t()
        else:
            w = self.position_bias[queries, keys]
        return w * self.near[queries, keys] if self.window else w

    def forward(self, x):
        query, key, value = self.qkv(x).chunk(3, 2)
        weight = self.biases().exp() * self.visible  # [T, T]
        exp_key = (key - key.amax(1, keepdim=True)).exp()
        mixed = (weight @ (exp_key * value)) / (weight @ exp_key)
        return self.output(query.sigmoid() * mixed)


class AftSimple(nn.Module):
    """AFT-simple as running sums."""

    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        query, key, value = self.qkv(x).chunk(3, 2)
        exp_key = (key - key.amax(1, keepdim=True)).exp()
        mixed = (exp_key * value).cumsum(1) / exp_key.cumsum(1)
        return self.output(query.sigmoid() * mixed)


class AftConv(nn.Module):
    """AFT-conv as running sums and a convolution with e^w - 1 of each head."""

    def __init__(self, width, heads, window):
        super().__init__()
        self.heads, self.window = heads, window
        self.query, self.key, self.value = (nn.Linear(width, each) for each in (width, heads, width))
        self.output = nn.Linear(width, width)
        self.kernel = nn.Parameter(0.02 * torch.randn(heads, window))
        self.kernel_gain, self.kernel_offset = (nn.Parameter(torch.zeros(heads)) for _ in range(2))

    def taps(self):
        """w by distance, [H, s]."""
        deviation, mean = torch.std_mean(self.kernel, 1, correction=0, keepdim=True)
        normed = (self.kernel - mean) / (deviation + 1e-5)
        return self.kernel_gain[:, None] * normed + self.kernel_offset[:, None]

    def sums(self, terms):
        """[B, T, H, D] to the same."""
        by_head = terms.permute(0, 3, 2, 1)  # [B, D, H, T]
        padded = functional.pad(by_head.flatten(0, 1), (self.window - 1, 0))
        kernel = self.taps().flip(1).expm1()[:, None]  # [H, 1, s]
        near = functional.conv1d(padded, kernel, groups=self.heads).view_as(by_head)
        return (near + by_head.cumsum(3)).permute(0, 3, 2, 1)

    def forward(self, x):
        key = self.key(x)[..., None]  # [B, T, H, 1]
        exp_key = (key - key.amax(1, keepdim=True)).exp()
        value = self.value(x).unflatten(2, (self.heads, -1))
        mixed = (self.sums(exp_key * value) / self.sums(exp_key)).flatten(2)
        return self.output(self.query(x).sigmoid() * mixed)


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
    """The same blocks around a form of Transformer-XL's attention, with its memory. [T, B, C] inside, or [B, T, C]."""

    def __init__(self, attention, vocabulary, width, layers, heads, memory):
        super().__init__()
        self.memory, self.batch_first = memory, attention.batch_first
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
        time = 1 if self.batch_first else 0
        x = self.embedding(tokens if self.batch_first else tokens.t())
        keys = x.size(time) + memories[0].size(time)
        angle = torch.arange(keys - 1, -1, -1.0)[:, None] * self.frequency
        sinusoids = torch.cat([angle.sin(), angle.cos()], dim=1)
        mask = causal_mask(x.size(time), keys)
        remembered = []
        for (mixer_norm, mixer, norm, feed_forward), memory in zip(self.blocks, memories):
            both = torch.cat([memory, x], time)
            remembered.append(both.narrow(time, keys - self.memory, self.memory).detach())
            x = x + mixer(mixer_norm(x), mixer_norm(memory), sinusoids, mask)
            x = x + feed_forward(norm(x))
        logits = functional.linear(self.norm(x), self.embedding.weight)
        return logits if self.batch_first else logits.transpose(0, 1), remembered


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
