"""The README's table: what people have today, written out, and the line that replaces it, as it stands there."""

import math
import re
import sys
import unittest
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import shiftgrad.torch as sg

root = Path(__file__).parents[2]
sys.path.insert(0, str(root / "tests/bench"))
import pytorch_models as models  # noqa: E402

B, H, T, D, m, w = 2, 3, 7, 4, 2, 3
C = H * D
delta = torch.arange(T)[:, None] - torch.arange(T)  # how far each key is behind each query
future = delta < 0
sizes = {"C": C, "H": H, "T": T, "D": D, "w": w, "size": 3, "left_chunks": 1, "d_inner": 20, "sg": sg}


def table():
    """What is there today, and the first code of the line that replaces it."""
    text = (root / "examples/python/README.md").read_text()
    section = text.split("| today | then |\n|---|---|\n")[1].split("\n\n")[0]
    for row in section.splitlines():
        today, then = row.strip("| ").split(" | ")
        yield today, re.search(r"`(sg\.[^`]+)`", then)[1]


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def attend(score, v):
    return score.masked_fill(future, -math.inf).softmax(-1) @ v


def rename(state, **names):
    """A state_dict with parts of its names replaced, in their order."""
    for old, new in names.items():
        state = {name.replace(old, new): value for name, value in state.items()}
    return state


class Functions:
    """Functions of q, k and v [B, H, T, D]. Each returns the output, and by name what else it is made of."""

    def setup(self):
        self.q, self.k, self.v = given = [random(B, H, T, D) for _ in range(3)]
        self.scores = given[0] @ given[1].transpose(2, 3)
        return dict(zip("qkv", given))

    def sdpa(self):
        return F.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=True), {}

    def bias_by_distance(self):
        s = random(T, H)
        bias = s[T - 1 - delta.clamp(min=0)].permute(2, 0, 1).masked_fill(future, -math.inf)
        return F.scaled_dot_product_attention(self.q, self.k, self.v, attn_mask=bias[None]), {"s": s}

    def sliding_window(self):
        mask = (delta >= 0) & (delta < w)
        return F.scaled_dot_product_attention(self.q, self.k, self.v, attn_mask=mask), {}

    def chunks(self):
        chunk = torch.arange(T) // sizes["size"]
        ahead = chunk[:, None] - chunk
        mask = (ahead >= 0) & (ahead <= sizes["left_chunks"])
        return F.scaled_dot_product_attention(self.q, self.k, self.v, attn_mask=mask), {}

    def transformer_xl(self):
        u, p, r = random(H, D), random(H, D), random(T, H, D)
        by_position = torch.einsum("bhid,jhd->ijbh", self.q + p[:, None], r)
        shifted = models.TransformerXLAttention.rel_shift(by_position).permute(2, 3, 0, 1)
        score = (self.q + u[:, None]) @ self.k.transpose(2, 3) + shifted
        return attend(score / math.sqrt(D), self.v), {"r_w_bias": u, "r_r_bias": p, "r_head_k": r}

    def conformer(self):
        u, p, r = random(H, D), random(H, D), random(2 * T - 1, H, D)
        rows = r[T - 1 - delta]  # [T, T, H, D]
        score = (self.q + u[:, None]) @ self.k.transpose(2, 3)
        score = score + torch.einsum("bhid,ijhd->bhij", self.q + p[:, None], rows)
        y = (score / math.sqrt(D)).softmax(-1) @ self.v
        return y, {"bias_u": u, "bias_v": p, "positions": r}

    def deberta(self):
        pos_key, pos_query = random(2 * T - 1, H, D), random(2 * T - 1, H, D)
        c2p = (self.q @ pos_key.permute(1, 2, 0)).gather(-1, (T - 1 - delta).expand(B, H, T, T))
        p2c = (self.k @ pos_query.permute(1, 2, 0)).gather(-1, (T - 1 + delta).expand(B, H, T, T))
        score = (self.scores + c2p + p2c.transpose(2, 3)) / math.sqrt(3 * D)
        return score.softmax(-1) @ self.v, {"pos_key": pos_key, "pos_query": pos_query}

    def shaw(self):
        a, b = random(2 * m + 1, 1, D), random(2 * m + 1, 1, D)
        clipped = (-delta).clamp(-m, m) + m
        score = self.scores + torch.einsum("bhid,ijd->bhij", self.q, a[clipped, 0])
        p = (score / math.sqrt(D)).masked_fill(future, -math.inf).softmax(-1)
        return p @ self.v + torch.einsum("bhij,ijd->bhid", p, b[clipped, 0]), {"a": a, "b": b}

    def music_transformer(self):
        E = random(T, H, D)
        skewed = models.skew(self.q @ E.permute(1, 2, 0))
        return attend((self.scores + skewed) / math.sqrt(D), self.v), {"E": E}


class Modules:
    """Modules on x [B, T, C]. Each is given our layer, and returns a function that computes the same."""

    def multi_head_attention(self, layer):
        theirs = nn.MultiheadAttention(C, H, batch_first=True).double()
        state = {name.replace("in_proj_", "in_proj."): value for name, value in theirs.state_dict().items()}
        layer.load_state_dict(rename(state, in_proj="qkv", out_proj="output"))
        return lambda x: theirs(x, x, x, need_weights=False)[0]

    block = {"self_attn.in_proj_": "mixer.qkv.", "self_attn.out_proj": "mixer.output",
             "linear1": "feed_forward.up", "linear2": "feed_forward.down", "norm1": "mixer_norm"}

    def encoder_layer(self, layer):
        theirs = nn.TransformerEncoderLayer(C, H, sizes["d_inner"], batch_first=True).double().eval()
        layer.load_state_dict(rename(theirs.state_dict(), **self.block, norm2="feed_forward_norm"))
        return lambda x: theirs(x)

    def decoder_layer(self, layer):
        theirs = nn.TransformerDecoderLayer(C, H, sizes["d_inner"], batch_first=True).double().eval()
        layer.load_state_dict(rename(theirs.state_dict(), **self.block, **{
            "multihead_attn.in_proj_": "cross_attention.qkv.", "multihead_attn.out_proj": "cross_attention.output",
            "norm2": "cross_attention_norm", "norm3": "feed_forward_norm"}))
        return lambda x, context: theirs(x, context, tgt_mask=future, tgt_is_causal=True)

    def transformer_xl(self, layer):
        theirs = models.TransformerXLAttention(C, H).double()
        theirs.load_state_dict(layer.state_dict())
        angle = torch.arange(T - 1, -1, -1)[:, None] / 10000 ** (torch.arange(0, C, 2) / C)
        sinusoids = torch.cat([angle.sin(), angle.cos()], 1).double()
        return lambda x: theirs(x.transpose(0, 1), x.new_zeros(0, B, C), sinusoids, future).transpose(0, 1)

    def labml(self, layer):
        theirs = models.LabmlAttention(C, H, T).double()
        theirs.load_state_dict(layer.state_dict(), strict=False)
        return theirs

    def aft_local(self, layer):
        theirs = models.AftTable(C, T, w).double()
        theirs.load_state_dict(layer.state_dict(), strict=False)
        return theirs

    def local_rnn(self, layer):
        theirs = nn.LSTM(C, C, batch_first=True).double()
        theirs.load_state_dict({name + "_l0": value for name, value in layer.state_dict().items()})

        def run(x):
            windows = F.pad(x, (0, 0, w - 1, 0)).unfold(1, w, 1).permute(0, 1, 3, 2)  # [B, T, w, C]
            return theirs(windows.flatten(0, 1))[0][:, -1].view(B, T, C)
        return run


class Replacements(unittest.TestCase):
    functions = {
        "is_causal=True": Functions.sdpa, "a bias by distance": Functions.bias_by_distance,
        "sliding window": Functions.sliding_window, "chunked_limited": Functions.chunks,
        "Transformer-XL, XLNet": Functions.transformer_xl, "Conformer": Functions.conformer,
        "DeBERTa": Functions.deberta, "Shaw": Functions.shaw, "Music": Functions.music_transformer}
    modules = {
        "MultiheadAttention(C": Modules.multi_head_attention, "TransformerEncoderLayer": Modules.encoder_layer,
        "TransformerDecoderLayer": Modules.decoder_layer, "RelPartialLearnable": Modules.transformer_xl,
        "labml": Modules.labml, "an AFT": Modules.aft_local, "nn.LSTM": Modules.local_rnn}

    def compare(self, theirs, ours, tensors):
        torch.testing.assert_close(ours, theirs)
        cotangent = torch.randn_like(theirs)
        gradients = [torch.autograd.grad(y, tensors, cotangent) for y in (ours, theirs)]
        torch.testing.assert_close(*gradients)

    def test_each_line_computes_what_it_replaces(self):
        torch.manual_seed(1)
        cases = self.functions | self.modules
        rows = list(table())
        self.assertEqual(len(rows), len(cases))
        for today, line in rows:
            case, = (key for key in cases if key in today)
            with self.subTest(today):
                if case in self.functions:
                    setting = Functions()
                    heads = setting.setup()
                    theirs, more = cases[case](setting)
                    tensors = heads | more
                    self.compare(theirs, eval(line, sizes | tensors), list(tensors.values()))
                else:
                    layer = eval(line, dict(sizes)).double().eval()
                    with torch.no_grad():
                        for parameter in layer.parameters():
                            parameter.uniform_(-0.5, 0.5)
                    theirs = cases[case](Modules(), layer)
                    given = {"x": random(B, T, C)}
                    if "Decoder" in today:
                        given["context"] = random(B, 5, C)
                    self.compare(theirs(**given), layer(**given), list(given.values()))


if __name__ == "__main__":
    unittest.main()
