"""The fastest forms that we know of the variants in pytorch_models.py, with the same parameters and the same results.

Attention is two products and a softmax for a block of queries at a time, so that what lies ahead of a block costs
nothing and its scores stay in the cache. Scores by distance come out of a product one column wider, of which the
scores by key are a view. scaled_dot_product_attention over a dense bias is slower on CPUs: a bias with a gradient
takes its plain way, which multiplies in floats under autocast too.
"""
import math

import torch
from torch import nn
from torch.nn import functional

import pytorch_models as models

BLOCK = 256  # queries


def by_key(query, rows, bias=None):
    """Scores by distance of queries [B, H, T, D], moved to the keys at these distances, [B, H, T, K].

    rows [H, D, K] are those for K - 1 down to 0, and bias [H, K] is added. Keys ahead of a query get others' scores."""
    batch, heads, length, _ = query.shape
    keys = rows.size(-1)
    scores = query @ functional.pad(rows, (1, 0))
    if bias is not None:
        scores = scores + functional.pad(bias, (1, 0)).to(scores.dtype)[:, None]
    return scores.view(batch, heads, keys + 1, length)[:, :, 1:].view(batch, heads, length, keys)


def by_distance(p):
    """What by_key does, backwards: from [B, H, T, K] by key, 0 ahead of a query, to [B, H, T, K] by distance."""
    batch, heads, length, keys = p.shape
    return functional.pad(p.flatten(2), (length, 0)).view(batch, heads, length, keys + 1)[..., 1:]


def blocks(queries, keys):
    """For each block, its queries as a slice, and how many keys come no later than its last one."""
    for first in range(0, queries, BLOCK):
        last = min(first + BLOCK, queries)
        yield slice(first, last), keys - queries + last


def in_blocks(query, position_query, key, value, rows, mask, bias=None, value_rows=None):
    """softmax((q kᵀ + q rows + bias) / √D) v, for a block of queries at a time.

    rows [H, D, K] and bias [H, K] go from the farthest distance to 0, and so do value_rows [K, D], which are added to
    the values by their distance."""
    factor = 1 / math.sqrt(query.size(3))
    query, position_query, mixed = query * factor, position_query * factor, []
    for part, keys in blocks(query.size(2), key.size(2)):
        seen_bias = None if bias is None else factor * bias[:, -keys:]
        scores = by_key(position_query[:, :, part], rows[..., -keys:], seen_bias)
        scores = scores + query[:, :, part] @ key[:, :, :keys].transpose(2, 3)
        p = scores.masked_fill(mask[part, :keys], -float("inf")).softmax(3).to(value.dtype)
        mixed.append(p @ value[:, :, :keys])
        if value_rows is not None:
            mixed[-1] = mixed[-1] + by_distance(p) @ value_rows[-keys:]
    return torch.cat(mixed, 2) if len(mixed) > 1 else mixed[0]


class TransformerXLAttention(models.TransformerXLAttention):
    """Queries are made of x alone, and the batch comes first: [B, T, C]."""

    batch_first = True

    def forward(self, x, memory, sinusoids, mask):
        width = x.size(2)
        query = models.split_heads(functional.linear(x, self.qkv.weight[:width]), self.heads)
        pair = functional.linear(torch.cat([memory, x], 1), self.qkv.weight[width:])
        key, value = (models.split_heads(part, self.heads) for part in pair.chunk(2, 2))
        rows = self.position(sinusoids).unflatten(1, (self.heads, -1)).permute(1, 2, 0)  # [H, D, K]
        content, position = (query + bias[:, None].to(query.dtype) for bias in (self.content_bias, self.position_bias))
        return self.output(models.merge_heads(in_blocks(content, position, key, value, rows, mask)))


class LabmlAttention(models.LabmlAttention):
    """Of the distances, those that a query sees."""

    def forward(self, x):
        query, key, value = (models.split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        value = value + self.value_bias.view(self.heads, 1, self.size).to(value.dtype)
        seen = slice(self.limit - x.size(1) + 1, self.limit + 1)
        content = query + self.query_pos_bias[:, None].to(query.dtype)
        rows, bias = self.key_pos_embeddings[seen].permute(1, 2, 0), self.key_pos_bias[seen].t()
        return self.output(models.merge_heads(in_blocks(content, query, key, value, rows, self.mask, bias)))


class MusicAttention(models.MusicAttention):
    def forward(self, x):
        query, key, value = (models.split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        rows = self.past_embeddings.transpose(1, 2)
        return self.output(models.merge_heads(
            in_blocks(query, query, key, value, rows, self.mask, self.past_bias)))


class ShawAttention(models.ShawAttention):
    """The tables' rows for each distance, rather than for each pair of tokens."""

    def forward(self, x):
        query, key, value = (models.split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        of_distance = self.row[-1]  # the last query's, whose keys lie at all distances
        rows, value_rows = self.key_distance_embeddings[of_distance].t(), self.value_distance_embeddings[of_distance]
        return self.output(models.merge_heads(
            in_blocks(query, query, key, value, rows, self.mask, value_rows=value_rows)))


class ShawByBuckets(models.ShawAttention):
    """Products with the rows of the tables alone, gathered by distance, and p summed by distance."""

    def forward(self, x):
        query, key, value = (models.split_heads(part, self.heads) for part in self.qkv(x).chunk(3, 2))
        mixed, factor = [], 1 / math.sqrt(self.size)
        for part, keys in blocks(x.size(1), x.size(1)):
            q, row = query[:, :, part] * factor, self.row[part, :keys].expand(x.size(0), self.heads, -1, -1)
            by_row = q @ self.key_distance_embeddings.t()  # [B, H, T, 2k + 1]
            scores = by_row.gather(3, row) + q @ key[:, :, :keys].transpose(2, 3)
            p = scores.masked_fill(self.mask[part, :keys], -float("inf")).softmax(3)
            buckets = torch.zeros_like(by_row, dtype=p.dtype).scatter_add(3, row, p).to(value.dtype)
            mixed.append(p.to(value.dtype) @ value[:, :, :keys] + buckets @ self.value_distance_embeddings)
        return self.output(models.merge_heads(torch.cat(mixed, 2)))


def sums(weights, terms):
    """Weighted sums of terms [T, N], in which a block of S queries weighs its own rows and those before, the rest by 1.

    weights are [T / S, S, S], or [T / S, S, 2S] with the block before, or the same for all blocks."""
    size = weights.size(-2)
    own = terms.unflatten(0, (-1, size))  # [T / S, S, N]
    reach = weights.size(-1) // size
    weighed = own if reach == 1 else torch.cat([functional.pad(own[:-1], (0, 0, 0, 0, 1, 0)), own], 1)
    earlier = functional.pad(own.sum(1).cumsum(0), (0, 0, reach, 0))[:-reach]
    return (weights @ weighed + earlier[:, None].to(weights.dtype)).flatten(0, 1)


class Aft(nn.Module):
    """What AFT's forms share: one product for numerators and denominators of the whole batch. [T, B, C] inside."""

    def forward(self, x):
        query, key, value = self.qkv(x.transpose(0, 1)).chunk(3, 2)
        exp_key = (key - key.amax(0, keepdim=True)).exp()
        terms = torch.cat([exp_key * value, exp_key], 2)  # [T, B, 2C]
        top, bottom = self.summed(terms.flatten(1)).view_as(terms).chunk(2, 2)
        return self.output(query.sigmoid() * (top / bottom)).transpose(0, 1)


class AftTableInBlocks(Aft, models.AftTable):
    """Products with the keys that a block of queries sees."""

    def summed(self, terms):
        mixed = []
        for part, keys in blocks(len(terms), len(terms)):
            weight = (self.biases(part, slice(0, keys))).exp() * self.visible[part, :keys]
            mixed.append(weight.to(terms.dtype) @ terms[:keys])
        return torch.cat(mixed)


class AftLocal(Aft, models.AftTable):
    """Products with two blocks of keys, as long as the window, and sums of the earlier blocks. Whole blocks only."""

    def __init__(self, width, length, window, rank=0):
        super().__init__(width, length, window, rank)
        query = torch.arange(length).view(-1, window, 1)
        key = torch.arange(2 * window) - window + query[:, :1]  # [T / s, 1, 2s]
        self.register_buffer("keys", key.clamp(min=0))
        self.register_buffer("near_keys", (query - key).abs() < window)
        self.register_buffer("visible_keys", (key >= 0) & (key <= query))

    def summed(self, terms):
        if self.rank:
            query = self.position_bias_query.unflatten(0, (-1, self.window))
            biases = query @ self.position_bias_key[self.keys[:, 0]].transpose(1, 2)
        else:
            table = self.position_bias.unflatten(0, (-1, self.window))
            biases = table.gather(2, self.keys.expand(-1, self.window, -1))
        weights = (biases * self.near_keys).exp() * self.visible_keys
        return sums(weights.to(terms.dtype), terms)


class AftSimple(Aft, models.AftSimple):
    """Sums inside of blocks by a product, and of earlier blocks."""

    def __init__(self, width, block=32):
        super().__init__(width)
        self.register_buffer("ones", torch.ones(block, block).tril())

    def summed(self, terms):
        return sums(self.ones.to(terms.dtype), terms)


class AftConv(models.AftConv):
    """As AftLocal; all blocks have the same weights, of each head."""

    BLOCK = 32  # queries, at least as many as taps

    def forward(self, x):
        x = x.transpose(0, 1)
        exp_key = self.key(x)  # [T, B, H]
        exp_key = (exp_key - exp_key.amax(0, keepdim=True)).exp()[..., None]
        value = self.value(x).unflatten(2, (self.heads, -1))
        terms = torch.cat([exp_key * value, exp_key], 3)  # [T, B, H, D + 1]
        distance = self.BLOCK + torch.arange(self.BLOCK)[:, None] - torch.arange(2 * self.BLOCK)
        taps = functional.pad(self.taps(), (0, 1))  # behind the taps, 0
        weights = taps[:, distance.clamp(0, self.window)].exp() * (distance >= 0)  # [H, S, 2S]
        by_head = terms.transpose(0, 2)  # [H, B, T, D + 1]
        own = by_head.transpose(1, 2).flatten(2).unflatten(1, (-1, self.BLOCK))  # [H, T / S, S, B (D + 1)]
        pair = torch.cat([functional.pad(own[:, :-1], (0, 0, 0, 0, 1, 0)), own], 2)
        earlier = functional.pad(own.sum(2).cumsum(1), (0, 0, 2, 0))[:, :-2, None]
        mixed = weights[:, None].to(terms.dtype) @ pair + earlier.to(terms.dtype)
        mixed = mixed.flatten(1, 2).unflatten(2, (x.size(1), -1)).permute(1, 2, 0, 3)  # [T, B, H, D + 1]
        mixed = (mixed[..., :-1] / mixed[..., -1:]).flatten(2)
        return self.output(self.query(x).sigmoid() * mixed).transpose(0, 1)


class LocalRnn(models.LocalRnn):
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


def projected(attention, x, part=slice(0, 3)):
    """Some of the queries, keys and values of an nn.MultiheadAttention, [B, H, T, D]."""
    width = attention.embed_dim
    rows = slice(part.start * width, part.stop * width)
    heads = functional.linear(x, attention.in_proj_weight[rows], attention.in_proj_bias[rows])
    return [models.split_heads(each, attention.num_heads) for each in heads.chunk(part.stop - part.start, 2)]


class EncoderDecoder(models.EncoderDecoder):
    """With the parameters of nn.Transformer, q, k and v of one product, and a cache in decoding."""

    def attended(self, attention, query, key, value, causal=False):
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return attention.out_proj(models.merge_heads(mixed))

    def feed_forward(self, layer, norm, x):
        return x + layer.linear2(functional.relu(layer.linear1(norm(x))))

    def encode(self, source):
        x = self.embed(self.source, source)
        for layer in self.transformer.encoder.layers:
            x = x + self.attended(layer.self_attn, *projected(layer.self_attn, layer.norm1(x)))
            x = self.feed_forward(layer, layer.norm2, x)
        return self.transformer.encoder.norm(x)

    def sources(self, memory):
        """Keys and values of the source, for each layer of the decoder."""
        return [projected(layer.multihead_attn, memory, slice(1, 3)) for layer in self.transformer.decoder.layers]

    def decode(self, target, memory):
        x = self.embed(self.target, target)
        for layer, pair in zip(self.transformer.decoder.layers, self.sources(memory)):
            x = x + self.attended(layer.self_attn, *projected(layer.self_attn, layer.norm1(x)), causal=True)
            query = projected(layer.multihead_attn, layer.norm2(x), slice(0, 1))
            x = x + self.attended(layer.multihead_attn, *query, *pair)
            x = self.feed_forward(layer, layer.norm3, x)
        return self.output(self.transformer.decoder.norm(x))

    def step(self, tokens, rows, place, cache, sources):
        """Logits [R, V] behind `tokens` [R] at `place`, where row n goes on what row rows[n] was.

        cache [L, 2, R, H, longest, D] is written to; rows of the same source lie together."""
        x = self.target(tokens[:, None]) * self.target.embedding_dim**0.5 + self.positions[place]
        for layer, pair, past in zip(self.transformer.decoder.layers, sources, cache):
            query, key, value = projected(layer.self_attn, layer.norm1(x))
            past[..., :place, :] = past[:, rows, :, :place]
            past[0, :, :, place], past[1, :, :, place] = key[:, :, 0], value[:, :, 0]
            x = x + self.attended(layer.self_attn, query, *past[..., : place + 1, :])
            one_source = layer.norm2(x).unflatten(0, (len(pair[0]), -1)).flatten(1, 2)  # [B, beam, C]
            query = projected(layer.multihead_attn, one_source, slice(0, 1))
            x = x + self.attended(layer.multihead_attn, *query, *pair).view_as(x)
            x = self.feed_forward(layer, layer.norm3, x)
        return self.output(self.transformer.decoder.norm(x))[:, 0]
