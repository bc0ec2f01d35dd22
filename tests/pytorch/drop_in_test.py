"""Attention of other people's models replaced by ours: the same outputs, the same gradients. accelerate_test.py has
those of transformers."""

import math
import unittest

import torch
from torch import nn

import shiftgrad.torch as sg

B, T = 2, 6


def randomize(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.3, 0.3)


def heads(x, H):
    return x.unflatten(-1, (H, -1)).transpose(1, 2)  # [B, H, T, D]


class LabmlReference(nn.Module):
    """The formula of labml's RelativeMultiHeadAttention, with a row of the table for each pair."""

    def __init__(self, layer, P):
        super().__init__()
        self.layer, self.P = layer, P

    def forward(self, x):
        layer, T = self.layer, x.shape[1]
        C, (H, D) = x.shape[2], layer.query_pos_bias.shape
        q, k, v = (heads(part, H) for part in (x @ layer.qkv.weight.T).split(C, -1))
        v = v + layer.value_bias.view(H, 1, D)
        row = self.P - (torch.arange(T)[:, None] - torch.arange(T)[None])
        score = torch.einsum("bhid,bhjd->bhij", q + layer.query_pos_bias[:, None], k)
        score = score + torch.einsum("bhid,ijhd->bhij", q, layer.key_pos_embeddings[row])
        score = (score + layer.key_pos_bias[row].permute(2, 0, 1)) / math.sqrt(D)
        p = score.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf).softmax(-1)
        return (p @ v).transpose(1, 2).flatten(2) @ layer.output.weight.T + layer.output.bias


class MusicReference(nn.Module):
    """Relative global attention (Huang et al. 2018) by skewing q Eᵀ, as its public code does."""

    def __init__(self, layer, max_seq):
        super().__init__()
        self.layer, self.max_seq = layer, max_seq

    def forward(self, x):
        layer, T = self.layer, x.shape[1]
        H, D = layer.past_embeddings.shape[0], layer.past_embeddings.shape[2]
        q, k, v = (heads(part, H) for part in (x @ layer.qkv.weight.T + layer.qkv.bias).chunk(3, -1))
        table = layer.past_embeddings[:, self.max_seq - T:]
        by_distance = q @ table.transpose(1, 2) + layer.past_bias[:, None, self.max_seq - T:]  # [B, H, T, T]
        padded = nn.functional.pad(by_distance, (1, 0))
        skewed = padded.reshape(*padded.shape[:2], T + 1, T)[:, :, 1:]
        score = (q @ k.transpose(-1, -2) + skewed) / math.sqrt(D)
        p = score.masked_fill(torch.ones(T, T).triu(1).bool(), -math.inf).softmax(-1)
        return (p @ v).transpose(1, 2).flatten(2) @ layer.output.weight.T + layer.output.bias


class DropIn(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def agree(self, got, expected, name):
        error = ((got - expected).abs().max() / expected.abs().max().clamp(min=1)).item()
        self.assertLessEqual(error, 1e-5, name)

    def compare_layer(self, reference, layer, x):
        results = []
        for model in (reference, layer):
            leaf = x.detach().requires_grad_()
            layer.zero_grad()
            y = model(leaf)
            y.pow(2).sum().backward()
            results.append([y, leaf.grad, *(parameter.grad for parameter in layer.parameters())])
        for n, (expected, got) in enumerate(zip(*results)):
            self.agree(got, expected, f"tensor {n}")

    def test_labml(self):
        layer = sg.layer("relative_multi_head_attention", d_model=12, n_head=3, max_positions=8)
        randomize(layer)
        self.compare_layer(LabmlReference(layer, 8), layer, torch.randn(B, T, 12))

    def test_music_transformer(self):
        layer = sg.layer("relative_global_attention", d_model=12, n_head=3, max_seq=9)
        randomize(layer)
        self.compare_layer(MusicReference(layer, 9), layer, torch.randn(B, T, 12))

    def test_multi_head_attention_of_torch(self):
        theirs = nn.MultiheadAttention(12, 3, batch_first=True)
        randomize(theirs)
        for causal in (True, False):
            layer = sg.layer("multi_head_attention", d_model=12, n_head=3, causal=causal)
            layer.qkv.weight, layer.qkv.bias = theirs.in_proj_weight, theirs.in_proj_bias
            layer.output.weight, layer.output.bias = theirs.out_proj.weight, theirs.out_proj.bias
            mask = torch.ones(T, T).triu(1).bool() if causal else None
            padding = torch.zeros(B, T, dtype=torch.bool)
            padding[1, -2:] = True
            run = lambda x: theirs(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0]
            self.compare_layer(run, layer_with(layer, key_padding_mask=padding), torch.randn(B, T, 12))
            context = torch.randn(B, 4, 12)
            run = lambda x: theirs(x, context, context, need_weights=False)[0]
            self.compare_layer(run, layer_with(layer, context=context), torch.randn(B, T, 12))


class layer_with(nn.Module):
    """A layer with some arguments given."""

    def __init__(self, layer, **arguments):
        super().__init__()
        self.layer, self.arguments = layer, arguments

    def forward(self, x):
        return self.layer(x, **self.arguments)


class CausalSelfAttention(nn.Module):
    """As in nanoGPT's model.py, without dropout."""

    def __init__(self, n_embd, n_head):
        super().__init__()
        self.c_attn, self.c_proj, self.n_head = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd), n_head

    def forward(self, x):
        q, k, v = (heads(part, self.n_head) for part in self.c_attn(x).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))


class OurAttention(CausalSelfAttention):
    def forward(self, x):
        q, k, v = (heads(part, self.n_head) for part in self.c_attn(x).chunk(3, -1))
        y = sg.relative_attention(q, k, v)
        return self.c_proj(y.transpose(1, 2).flatten(2))


class GPT(nn.Module):
    def __init__(self, attention, vocabulary=20, n_embd=24, n_head=3, n_layer=2, block_size=16):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, n_embd), nn.Embedding(block_size, n_embd)
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "norm": nn.LayerNorm(n_embd), "attention": attention(n_embd, n_head), "mlp": nn.Sequential(
                nn.LayerNorm(n_embd), nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)),
        }) for _ in range(n_layer))
        self.norm, self.head = nn.LayerNorm(n_embd), nn.Linear(n_embd, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight[:tokens.shape[1]]
        for block in self.blocks:
            x = x + block["attention"](block["norm"](x))
            x = x + block["mlp"](x)
        return self.head(self.norm(x))


class Training(unittest.TestCase):
    def losses(self, attention):
        torch.manual_seed(1)
        model, text = GPT(attention), torch.randint(20, (40,)).repeat(50)
        optimizer, losses = torch.optim.AdamW(model.parameters(), lr=3e-3), []
        for _ in range(60):
            start = torch.randint(len(text) - 17, (8,))
            batch = torch.stack([text[n:n + 17] for n in start])
            loss = nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        return torch.tensor(losses)

    def test_a_gpt_learns_the_same(self):
        theirs, ours = self.losses(CausalSelfAttention), self.losses(OurAttention)
        self.assertLess(theirs[-1], 0.7 * theirs[0])
        self.assertLess((ours - theirs).abs().max(), 1e-3)


if __name__ == "__main__":
    unittest.main()
