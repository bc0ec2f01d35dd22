"""Attention of other people's models replaced by ours: the same outputs, the same gradients."""

import copy
import itertools
import math
import sys
import unittest
from unittest import mock

import torch
from torch import nn

import shiftgrad.torch as sg

try:
    import transformers
    from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta
    from transformers.models.parakeet import modeling_parakeet as parakeet
    from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer
    from transformers.models.xlnet import modeling_xlnet as xlnet
    missing = None
except ImportError as error:
    missing = str(error)
try:
    from transformers.models.deprecated.transfo_xl import modeling_transfo_xl as transfo_xl
    transfo_xl_missing = None
except ImportError as error:
    transfo_xl_missing = str(error)

B, T = 2, 6


def randomize(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.3, 0.3)


def heads(x, H):
    return x.unflatten(-1, (H, -1)).transpose(1, 2)  # [B, H, T, D]


class TransfoXLAttention(nn.Module):
    """For RelPartialLearnableMultiHeadAttn, with its parameters."""

    def __init__(self, old):
        super().__init__()
        self.attention = new = sg.layer("transformer_xl_attention", d_model=old.d_model, n_head=old.n_head,
                                        d_head=old.d_head)
        new.qkv.weight, new.output.weight = old.qkv_net.weight, old.o_net.weight
        new.position.weight, new.content_bias, new.position_bias = old.r_net.weight, old.r_w_bias, old.r_r_bias
        self.layer_norm = old.layer_norm

    def forward(self, w, r, attn_mask=None, mems=None, head_mask=None, output_attentions=False):
        y = self.attention(w.transpose(0, 1), memory=mems.transpose(0, 1), attention_mask=attn_mask[:, :, 0])
        return [self.layer_norm(w + y.transpose(0, 1))]


if not missing:
    class XLNetAttention(xlnet.XLNetRelativeAttention):
        def rel_attn_core(self, q, k, v, r, seg_mat=None, attn_mask=None, head_mask=None, output_attentions=False):
            y = sg.relative_attention(
                *(each.permute(1, 2, 0, 3) for each in (q, k, v)), content_bias=self.r_w_bias,
                position_bias=self.r_r_bias, position_rows=r[1:, 0], causal=len(r) == len(k) + 1,
                attention_mask=None if attn_mask is None else attn_mask[..., 0].permute(2, 0, 1).bool())
            return y.permute(2, 0, 1, 3)

    class ConformerAttention(conformer.Wav2Vec2ConformerSelfAttention):
        def forward(self, hidden_states, attention_mask=None, relative_position_embeddings=None,
                    output_attentions=False):
            q, k, v = (heads(linear(hidden_states), self.num_heads) for linear in (self.linear_q, self.linear_k, self.linear_v))
            y = sg.relative_attention(
                q, k, v, content_bias=self.pos_bias_u, position_bias=self.pos_bias_v, causal=False,
                position_rows=self.linear_pos(relative_position_embeddings[0]).unflatten(-1, (self.num_heads, -1)),
                key_padding_mask=None if attention_mask is None else attention_mask[:, 0, 0] < 0)
            return self.linear_out(y.transpose(1, 2).flatten(2)), None

    class ParakeetAttention(parakeet.ParakeetEncoderAttention):
        def forward(self, hidden_states, position_embeddings, attention_mask=None, **_):
            H = self.config.num_attention_heads
            q, k, v = (heads(linear(hidden_states), H) for linear in (self.q_proj, self.k_proj, self.v_proj))
            y = sg.relative_attention(
                q, k, v, content_bias=self.bias_u, position_bias=self.bias_v, causal=False,
                position_rows=self.relative_k_proj(position_embeddings[0]).unflatten(-1, (H, -1)),
                attention_mask=None if attention_mask is None else ~attention_mask[:, 0])
            return self.o_proj(y.transpose(1, 2).flatten(2)), None


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

    def compare(self, theirs, replace, run, parts):
        """Runs both models `parts` times; run(model, part) returns the outputs and a loss."""
        ours = copy.deepcopy(theirs)
        parameters = dict(ours.named_parameters())  # which ours goes on using
        replaced = replace(ours)
        self.assertGreater(replaced, 0)
        states = [None, None]
        for part in range(parts):
            results = []
            for n, model in enumerate((theirs, ours)):
                outputs, states[n] = run(model, part, states[n])
                model.zero_grad()
                for parameter in parameters.values() if n else ():
                    parameter.grad = None
                outputs.float().pow(2).mean().backward()
                results.append(outputs.detach())
            self.agree(results[1], results[0], f"outputs of part {part}")
            for name, parameter in theirs.named_parameters():
                if parameter.grad is None:
                    self.assertTrue(parameters[name].grad is None, name)
                else:
                    self.agree(parameters[name].grad, parameter.grad, f"gradient of {name}, part {part}")

    @unittest.skipIf(missing or transfo_xl_missing, f"{missing or transfo_xl_missing}")
    def test_transfo_xl(self):
        for same_length, clamp_len, untie in ((False, -1, True), (True, -1, False), (False, 4, True)):
            config = transfo_xl.TransfoXLConfig(
                vocab_size=30, cutoffs=[], d_model=12, d_embed=12, n_head=3, d_head=4, d_inner=16, n_layer=3,
                mem_len=5, same_length=same_length, clamp_len=clamp_len, untie_r=untie, dropout=0, dropatt=0,
                adaptive=False, div_val=1, pad_token_id=0)
            model = transfo_xl.TransfoXLModel(config)
            randomize(model)
            text = torch.randint(30, (3, B, T))

            def replace(model):
                for layer in model.layers:
                    new = TransfoXLAttention(layer.dec_attn)
                    if clamp_len > 0:
                        new.attention = self.clamped(new.attention, clamp_len)
                    layer.dec_attn = new
                return len(model.layers)

            def run(model, part, mems):
                out = model(text[part], mems=mems)
                return out.last_hidden_state, out.mems

            # transformers 4.57.6 calls type_as with a dtype, which no torch takes.
            with mock.patch.object(torch.Tensor, "type_as", lambda tensor, dtype: tensor.to(dtype)):
                self.compare(model, replace, run, parts=3)

    def clamped(self, attention, clamp_len):
        new = sg.layer(attention.name, **attention.config, clamp_len=clamp_len)
        for name, parameter in attention.named_parameters():
            owner, _, leaf = name.rpartition(".")
            setattr(new.get_submodule(owner), leaf, parameter)
        return new

    @unittest.skipIf(missing, f"{missing}")
    def test_xlnet(self):
        for attention in ("uni", "bi"):
            config = xlnet.XLNetConfig(
                vocab_size=30, d_model=12, n_head=3, d_inner=16, n_layer=2, attn_type=attention, mem_len=5,
                dropout=0, pad_token_id=0)
            model = xlnet.XLNetLMHeadModel(config)
            randomize(model)
            text = torch.randint(1, 30, (3, B, T))

            def replace(model):
                for layer in model.transformer.layer:
                    layer.rel_attn.__class__ = XLNetAttention
                return len(model.transformer.layer)

            def run(model, part, mems):
                out = model(text[part], mems=mems, use_mems=True)
                return out.logits, out.mems

            self.compare(model, replace, run, parts=3)

    @unittest.skipIf(missing, f"{missing}")
    def test_wav2vec2_conformer(self):
        config = conformer.Wav2Vec2ConformerConfig(
            hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=16,
            position_embeddings_type="relative", hidden_dropout=0, attention_dropout=0, layerdrop=0,
            conformer_conv_dropout=0, conv_depthwise_kernel_size=3, num_conv_pos_embeddings=4,
            num_conv_pos_embedding_groups=2)
        model = conformer.Wav2Vec2ConformerEncoder(config).eval()
        randomize(model)
        x = torch.randn(1, B, T, 12)
        seen = torch.arange(T)[None] < torch.tensor([T, T - 2])[:, None]

        def replace(model):
            for layer in model.layers:
                layer.self_attn.__class__ = ConformerAttention
            return len(model.layers)

        for mask in (None, seen):
            run = lambda model, part, _: (model(x[part].clone(), attention_mask=mask).last_hidden_state, None)
            self.compare(model, replace, run, parts=1)

    @unittest.skipIf(missing, f"{missing}")
    def test_parakeet(self):
        config = parakeet.ParakeetEncoderConfig(
            hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=16,
            attention_bias=True, conv_kernel_size=3, subsampling_factor=2, subsampling_conv_channels=4,
            num_mel_bins=8, dropout=0, dropout_positions=0, layerdrop=0, activation_dropout=0,
            attention_dropout=0)
        # With "eager", transformers 4.57.6 makes NaN of tokens that are padding.
        config._attn_implementation = "sdpa"
        model = parakeet.ParakeetEncoder(config).eval()
        randomize(model)
        x = torch.randn(B, 3 * T, 8)
        padded = torch.arange(3 * T)[None] < torch.tensor([3 * T, 2 * T])[:, None]

        def replace(model):
            for layer in model.layers:
                layer.self_attn.__class__ = ParakeetAttention
            return len(model.layers)

        for mask in (None, padded):
            def run(model, part, state):
                y = model(x, attention_mask=mask).last_hidden_state
                seen = slice(None) if mask is None else model._get_output_attention_mask(mask, target_length=y.shape[1])
                return y[seen], None

            self.compare(model, replace, run, parts=1)

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

    def test_deberta(self):
        """Positions that share weights with the content or have their own, in buckets or not."""
        for shared, buckets, kinds in itertools.product((True, False), (-1, 4), (["c2p", "p2c"], ["p2c"], ["c2p"])):
            with self.subTest(shared=shared, buckets=buckets, kinds=kinds):
                self.check_deberta(shared, buckets, kinds)

    def check_deberta(self, shared, buckets, kinds, C=8, H=2, T=13):
        config = transformers.DebertaV2Config(
            hidden_size=C, num_attention_heads=H, share_att_key=shared, position_buckets=buckets,
            max_relative_positions=9, pos_att_type=kinds, relative_attention=True)
        theirs = deberta.DisentangledSelfAttention(config).double().eval()
        randomize(theirs)
        span = theirs.pos_ebd_size
        x, table = (torch.randn(*shape, dtype=torch.float64, requires_grad=True)
                    for shape in ((B, T, C), (2 * span, C)))
        padding = torch.zeros(B, T, dtype=torch.bool)
        padding[1, -3:] = True
        seen = ~(padding[:, None, None] | padding[:, None, :, None])
        expected = theirs(x, seen, rel_embeddings=table)[0]

        delta = torch.arange(T - 1, -T, -1)
        if buckets > 0:
            delta = deberta.make_log_bucket_position(delta, buckets, 9)
        rows = (delta + span).clamp(0, 2 * span - 1).long()
        own = lambda name: getattr(theirs, name if shared else f"pos_{name}")
        by_distance = lambda name: own(name)(table)[rows].unflatten(-1, (H, -1))  # [n, H, D]
        divisor = deberta.scaled_size_sqrt(torch.empty(C // H), 1 + len(kinds))  # √(3D), which they round to float
        y = sg.relative_attention(
            heads(theirs.query_proj(x), H), heads(theirs.key_proj(x), H), heads(theirs.value_proj(x), H),
            position_rows=by_distance("key_proj") if "c2p" in kinds else None,
            position_queries=by_distance("query_proj") if "p2c" in kinds else None,
            scale=1 / divisor.item(), causal=False, key_padding_mask=padding)
        y = y.transpose(1, 2).flatten(2)
        kept = ~padding[..., None]
        cotangent = torch.randn_like(y) * kept
        torch.testing.assert_close(y * kept, expected * kept, rtol=1e-12, atol=1e-12)
        leaves = [x, table, *(each for name, each in theirs.named_parameters())]
        ours, wanted = (torch.autograd.grad(out, leaves, cotangent, allow_unused=True) for out in (y, expected))
        for a, b in zip(ours, wanted):
            torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11)

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
    if missing:
        print(f"SKIPPED in part: {missing}", file=sys.stderr)
    unittest.main()
