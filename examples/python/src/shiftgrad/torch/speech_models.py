"""Attentions of speech models of transformers with relative positions that their layers share: WavLM and SpeechT5."""

import copy

import torch

from .row import Host, Row, dense, is_accelerated, projected, through
from .visibility import seen

_checked = "transformers 4.57.6"


# WavLM. Each query scales the bias by distance, a table [2T - 1, H], by a gate: one more channel of the query, and the
# only one that a row of positions has.

def _by_batch(mask):
    """A mask [B, K] as [B, 1, K], or None."""
    return mask[:, None] if mask.dim() == 2 else None


def _wavlm_can(module, call):
    bias, mask, (B, T) = call.get("position_bias"), call.get("attention_mask"), call["hidden_states"].shape[:2]
    if mask is None and not torch.is_grad_enabled():
        return False  # PyTorch's own kernel is nearly as fast
    if mask is not None and (mask.dtype is not torch.bool or mask.shape != (B, T)):
        return False
    return hasattr(module, "rel_attn_embed") if bias is None else bias.shape == (2 * T - 1, module.num_heads)


def _wavlm_gate(module, x):
    """What each query [B, H, T, 1] scales the bias by."""
    x = x.unflatten(-1, (module.num_heads, -1)).transpose(1, 2)  # [B, H, T, D]
    a, b = module.gru_rel_pos_linear(x).unflatten(-1, (2, 4)).sum(-1).sigmoid().chunk(2, -1)
    return a * (b * module.gru_rel_pos_const - 1) + 2


def _wavlm_heads(module, call):
    q, k, v = projected("q_proj", "k_proj", "v_proj", "head_dim")(module, call)
    gate = _wavlm_gate(module, call["hidden_states"]) / module.scaling
    return torch.cat([q, gate.to(q.dtype)], -1), torch.nn.functional.pad(k, (0, 1)), v


def _wavlm_terms(module, call, T, K):
    table = call.get("position_bias")
    if table is None:
        ahead = torch.arange(1 - T, T, device=call["hidden_states"].device)
        table = module.rel_attn_embed(module._relative_positions_bucket(ahead))
    return {"position_rows": torch.nn.functional.pad(table[..., None], (module.head_dim, 0))}  # [2T - 1, H, D + 1]


def _wavlm_plain(module, call):
    bias = call.get("position_bias")
    if bias is None or bias.dim() != 2:
        return call
    B, T = call["hidden_states"].shape[:2]
    return call | {"position_bias": dense(bias, T).repeat(B, 1, 1, 1).flatten(0, 1)}


# SpeechT5. Its encoder makes a key for each pair of tokens; here it makes a table [2m + 1, D] of those by distance.

class SpeechT5Table(torch.nn.Module):
    """SpeechT5's encoding of positions, as a table by distance."""

    def __init__(self, encoding):
        super().__init__()
        self.encoding = encoding

    def forward(self, x):
        m = self.encoding.max_length
        behind = torch.arange(m, -m - 1, -1, device=x.device)
        return self.encoding.pe_k(behind.clamp(max=m - 1) + m)


def _speecht5_encoder(encoder, call, original, is_short):
    x, attentions = call["hidden_states"], [layer.attention for layer in encoder.layers]
    (B, T), scores = x.shape[:2], encoder.config.encoder_attention_heads * x.shape[1]
    if torch.compiler.is_compiling() or is_short(B * T * scores) or not all(map(is_accelerated, attentions)):
        return original(encoder, **call)
    encoder = copy.copy(encoder)
    encoder._modules = encoder._modules | {"embed_positions": SpeechT5Table(encoder.embed_positions)}
    with x.device:  # the encoder makes its mask on the default device
        return original(encoder, **call)


def _speecht5_can(module, call):
    keys = call.get("position_bias")
    return keys is not None and keys.dim() == 2


def _speecht5_plain(module, call):
    keys, T = call.get("position_bias"), call["hidden_states"].shape[1]
    if keys is None or keys.dim() != 2:
        return call
    m, at = len(keys) // 2, torch.arange(T, device=keys.device)
    return call | {"position_bias": keys[(at - at[:, None]).clamp(-m, m) + m]}  # [T, T, D]


speech_models = {
    "wavlm.modeling_wavlm.WavLMAttention": Row(
        _checked, "hidden_states attention_mask position_bias index",
        modules="q_proj k_proj v_proj out_proj gru_rel_pos_linear", tensors="gru_rel_pos_const",
        values="num_heads head_dim scaling dropout _relative_positions_bucket", heads=_wavlm_heads, terms=_wavlm_terms,
        can=_wavlm_can, plain=_wavlm_plain, scale=lambda module: module.scaling,
        dropout=lambda module: module.dropout, rows=_by_batch, read=seen,
        result=lambda module, call, y, terms: (
            *through("out_proj")(module, call, y, terms), terms["position_rows"][..., -1])),
    "speecht5.modeling_speecht5.SpeechT5Attention": Row(
        _checked, "hidden_states attention_mask position_bias", modules="q_proj k_proj v_proj out_proj",
        values="num_heads head_dim scaling dropout is_decoder", applies=lambda module: not module.is_decoder,
        heads=projected("q_proj", "k_proj", "v_proj", "head_dim"), can=_speecht5_can, plain=_speecht5_plain,
        terms=lambda module, call, T, K: {"clipped_keys": call["position_bias"][:, None]},
        scale=lambda module: module.scaling, dropout=lambda module: module.dropout, result=through("out_proj")),
}

speech_hosts = {"speecht5.modeling_speecht5.SpeechT5Encoder": Host(_speecht5_encoder)}
