#!/usr/bin/env python3
"""Runs a Transformer-XL of transformers 4, which later versions have dropped, with the layers of this package.

    transfo_xl.py WEIGHTS TOKENS [--segment N] [--length N] [--mem_len N] [--clamp_len N] [--same_length true|false]

WEIGHTS is the state dict of a TransfoXLLMHeadModel, model.safetensors or pytorch_model.bin; TOKENS a text file of
token numbers. Prints the loss in nats, and N tokens that follow. The lengths are not in the weights; those of
transfo-xl-wt103 are the default.
"""

import argparse
import itertools
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import shiftgrad.torch as sg

# The names of a block's parameters here and there.
_names = {
    "mixer.qkv.weight": "dec_attn.qkv_net.weight", "mixer.output.weight": "dec_attn.o_net.weight",
    "mixer.position.weight": "dec_attn.r_net.weight", "mixer.content_bias": "dec_attn.r_w_bias",
    "mixer.position_bias": "dec_attn.r_r_bias", "mixer_norm.weight": "dec_attn.layer_norm.weight",
    "mixer_norm.bias": "dec_attn.layer_norm.bias", "feed_forward.up.weight": "pos_ff.CoreNet.0.weight",
    "feed_forward.up.bias": "pos_ff.CoreNet.0.bias", "feed_forward.down.weight": "pos_ff.CoreNet.3.weight",
    "feed_forward.down.bias": "pos_ff.CoreNet.3.bias", "feed_forward_norm.weight": "pos_ff.layer_norm.weight",
    "feed_forward_norm.bias": "pos_ff.layer_norm.bias",
}


def _list(state, name):
    """The tensors name.0, name.1, … that there are."""
    found = []
    while name.format(len(found)) in state:
        found.append(state[name.format(len(found))])
    return found


class TransfoXL(nn.Module):
    """The model of a state dict: adaptive embedding, blocks of Transformer-XL, adaptive softmax.

    Tokens [B, T] are in clusters, one for each of the vocabulary's parts, of which later ones are rarer and have
    narrower embeddings. memory [L, B, mem_len, C] has the inputs of the blocks. As there, a text begins behind
    mem_len zero vectors, which are seen.
    """

    def __init__(self, state, mem_len=1600, clamp_len=1000, same_length=True, pre_lnorm=False, norm_eps=1e-5):
        super().__init__()
        state = {name.removeprefix("transformer."): each for name, each in state.items()}
        tables, projections = _list(state, "word_emb.emb_layers.{}.weight"), _list(state, "word_emb.emb_projs.{}")
        blocks = len({name.split(".")[1] for name in state if name.startswith("layers.")})
        if not tables or len(projections) != len(tables) or not blocks:
            raise ValueError(f"TransfoXL: a state with {len(tables)} tables of embeddings, {len(projections)} "
                             f"projections and {blocks} layers, expected those of a TransfoXLLMHeadModel with div_val")
        dtype = tables[0].dtype
        self.mem_len, self.C = mem_len, len(projections[0])
        parameter = lambda tensor: nn.Parameter(tensor.detach().clone())
        self.tables, self.projections = (nn.ParameterList(map(parameter, each)) for each in (tables, projections))
        # Those of the output are the same tensors, or are there as well.
        for name, default in (("crit.out_layers.{}.weight", tables), ("crit.out_projs.{}", projections)):
            given = [state.get(name.format(n), each) for n, each in enumerate(default)]
            setattr(self, "rows" if "layers" in name else "out_projections", nn.ParameterList(map(parameter, given)))
        self.biases = nn.ParameterList(map(parameter, _list(state, "crit.out_layers.{}.bias")))
        if len(tables) > 1:
            self.cluster_rows, self.cluster_bias = (
                parameter(state["crit.cluster_" + each]) for each in ("weight", "bias"))
        ends = [0, *itertools.accumulate(len(table) for table in tables)]
        self.clusters = list(itertools.pairwise(ends))

        self.blocks = nn.ModuleList()
        for n in range(blocks):
            own = lambda name: state.get(f"layers.{n}.{name}", state.get(name.removeprefix("dec_attn.")))
            H, D = own("dec_attn.r_w_bias").shape
            mixer = {"type": "transformer_xl_attention", "d_model": self.C, "n_head": H, "d_head": D,
                     "clamp_len": max(0, clamp_len)} | ({"window": mem_len} if same_length else {})
            block = sg.layer("transformer_block", mixer=mixer, d_inner=len(own("pos_ff.CoreNet.0.weight")),
                             norm_first=pre_lnorm, norm_eps=norm_eps).to(dtype)
            block.load_state_dict({here: own(there) for here, there in _names.items()})
            self.blocks.append(block)
        self.eval()

    def embed(self, tokens):
        """The embeddings [B, T, C] of tokens [B, T]."""
        x = self.tables[0].new_zeros(*tokens.shape, self.C)
        for table, projection, (begin, end) in zip(self.tables, self.projections, self.clusters):
            inside = (tokens >= begin) & (tokens < end)
            x = x.masked_scatter(inside[..., None], functional.embedding(tokens[inside] - begin, table) @ projection.T)
        return x * self.C ** 0.5

    def _check(self, name, tokens):
        """Raises a ValueError unless the vocabulary has all of the tokens."""
        if tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < self.clusters[-1][1]:
            raise ValueError(f"TransfoXL: {name} from {int(tokens.min())} to {int(tokens.max())}, expected 0 to "
                             f"{self.clusters[-1][1] - 1}")

    def forward(self, tokens, memory=None):
        """Returns the last block's output [B, T, C], and the memory behind these tokens."""
        self._check("tokens", tokens)
        x = self.embed(tokens)
        if memory is None:
            memory = x.new_zeros(len(self.blocks), len(tokens), self.mem_len, self.C)
        made = []
        for block, past in zip(self.blocks, memory):
            made.append(torch.cat([past, x.detach()], 1)[:, max(0, past.shape[1] + x.shape[1] - self.mem_len):])
            x = block(x, memory=past)
        return x, torch.stack(made)

    def _logits(self, x, n):
        """The logits of cluster n, and behind those of the first one the logits of the other clusters."""
        x = x @ self.out_projections[n]
        if n or len(self.clusters) == 1:
            return x @ self.rows[n].T + self.biases[n]
        return x @ torch.cat([self.rows[0], self.cluster_rows]).T + torch.cat([self.biases[0], self.cluster_bias])

    def log_probabilities(self, x):
        """The logarithms of the probabilities [B, T, V] of the next token, for outputs x [B, T, C]."""
        head = self._logits(x, 0).log_softmax(-1)
        first = self.clusters[0][1]
        tails = [head[..., first + n, None] + self._logits(x, n + 1).log_softmax(-1)
                 for n in range(len(self.clusters) - 1)]
        return torch.cat([head[..., :first], *tails], -1)

    def losses(self, tokens, targets, memory=None):
        """Returns the losses [B, T] of the targets [B, T] in nats, and the memory. Only clusters with a target cost."""
        self._check("targets", targets)
        x, memory = self(tokens, memory)
        head = self._logits(x, 0).log_softmax(-1)
        first = self.clusters[0][1]
        total = head.gather(-1, targets.clamp(max=first - 1)[..., None])[..., 0]
        for n, (begin, end) in enumerate(self.clusters[1:]):
            inside = (targets >= begin) & (targets < end)
            tail = self._logits(x[inside], n + 1).log_softmax(-1).gather(-1, targets[inside][:, None] - begin)[:, 0]
            total = total.masked_scatter(inside, head[inside][:, first + n] + tail)
        return -total, memory

    @torch.no_grad()
    def generate(self, tokens, length, temperature=1.0, top_k=40, seed=None):
        """Returns `length` tokens [B, length] that follow tokens [B, T]; the likeliest for a temperature of 0."""
        if tokens.shape[1] == 0:
            raise ValueError("TransfoXL: a prompt without tokens, expected at least 1")
        generator = torch.Generator()
        generator.manual_seed(torch.seed() if seed is None else seed)
        memory, made = None, []
        for _ in range(length):
            x, memory = self(tokens, memory)
            score, choice = self.log_probabilities(x[:, -1:])[:, 0].topk(min(top_k, self.clusters[-1][1]))
            drawn = torch.zeros_like(tokens[:, :1]) if temperature == 0 else torch.multinomial(
                (score / temperature).softmax(-1), 1, generator=generator)
            tokens = choice.gather(1, drawn)
            made.append(tokens)
        return torch.cat(made, 1) if made else tokens[:, :0]


def read(path):
    """The state dict in a file."""
    if Path(path).suffix == ".safetensors":
        from safetensors.torch import load_file
        return load_file(path)
    return torch.load(path, map_location="cpu", weights_only=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", metavar="WEIGHTS")
    parser.add_argument("tokens", metavar="TOKENS")
    parser.add_argument("--segment", type=int, default=128, help="tokens that are scored at once (128)")
    parser.add_argument("--length", type=int, default=20, help="tokens to write (20)")
    parser.add_argument("--mem_len", type=int, default=1600)
    parser.add_argument("--clamp_len", type=int, default=1000)
    parser.add_argument("--same_length", choices=("true", "false"), default="true")
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    tokens = torch.tensor([[int(each) for each in Path(given.tokens).read_text().split()]])
    model = TransfoXL(read(given.weights), given.mem_len, given.clamp_len, given.same_length == "true")
    memory, total = None, 0.0
    with torch.no_grad():
        for part, target in zip(tokens[:, :-1].split(given.segment, 1), tokens[:, 1:].split(given.segment, 1)):
            losses, memory = model.losses(part, target, memory)
            total += losses.sum().item()
    if tokens.shape[1] > 1:
        print(f"{total / (tokens.shape[1] - 1):.4f} nats each")
    print(*model.generate(tokens, given.length, seed=given.seed)[0].tolist())


if __name__ == "__main__":
    main()
