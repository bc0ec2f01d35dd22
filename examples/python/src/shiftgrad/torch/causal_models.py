"""Attentions of causal models of transformers that SDPA lacks a term for: soft caps, sinks and ALiBi."""

import sys

import torch

from .row import Row, base, caches_of, implementation, is_accelerated, merged, split, through
from .visibility import hides

_checked = "transformers 4.57.6"


def _mean_unless_it_learns(module):
    """The lowest number makes the scores of a query that sees nothing alike, but their gradients go on."""
    return "own" if torch.is_grad_enabled() else "mean"


def _length_of_keys(module, call, cache):
    """The keys of a self-attention, those in its cache and the new ones, or None for a cache with room ahead."""
    T = call["hidden_states"].shape[1]
    if cache is None:
        return T
    if getattr(cache, "is_compileable", True) or not hasattr(cache, "layers"):
        return None
    layer = cache.layers[module.layer_idx] if module.layer_idx < len(cache.layers) else None
    keys = getattr(layer, "keys", None)
    return T if keys is None else T + keys.shape[-2]


def _fits_keys(mask, K):
    return K is not None and (mask is None or isinstance(mask, torch.Tensor) and mask.shape[-1] == K)


# Gemma 2 and GPT-OSS, whose heads turn with the position and share keys and values.

def _decoder_can(module, call):
    turn = call.get("position_embeddings")
    return implementation(module) == "eager" and isinstance(turn, tuple) and len(turn) == 2 and _fits_keys(
        call.get("attention_mask"), _length_of_keys(module, call, caches_of(call)))


def _decoder_heads(module, call):
    x, cache, (cos, sin) = call["hidden_states"], caches_of(call), call["position_embeddings"]
    q, k, v = (split(getattr(module, name)(x), module.head_dim) for name in ("q_proj", "k_proj", "v_proj"))
    q, k = sys.modules[base(module).__module__].apply_rotary_pos_emb(q, k, cos, sin)
    if cache is None:
        return q, k, v
    return q, *cache.update(k, v, module.layer_idx, {
        "sin": sin, "cos": cos, "cache_position": call.get("cache_position")})


def _decoder_scores(module, call):
    (B, T), mask = call["hidden_states"].shape[:2], call.get("attention_mask")
    return B * module.config.num_attention_heads * T * (mask.shape[-1] if isinstance(mask, torch.Tensor) else T)


def _soft_cap(module, call, T, K):
    cap = module.attn_logit_softcapping
    return {} if cap is None else {"soft_cap": float(cap)}


def _decoder(term, **more):
    return Row(_checked, **{
        "takes": "hidden_states position_embeddings attention_mask past_key_values cache position_ids",
        "modules": "q_proj k_proj v_proj o_proj",
        "values": "config head_dim scaling attention_dropout layer_idx " + term,
        "heads": _decoder_heads, "can": _decoder_can, "scores": _decoder_scores, "result": through("o_proj"),
        "scale": lambda module: module.scaling, "dropout": lambda module: module.attention_dropout} | more)


def _needs_no_kernel(module):
    """Whether SDPA computes all that the module has."""
    return implementation(module) == "sdpa" and getattr(module, "attn_logit_softcapping", None) is None


def _leaves_its_cap_out(module):
    """transformers gives SDPA no soft cap, and says nothing."""
    if implementation(module) != "sdpa":
        return None
    return 'attends by "sdpa", which leaves its soft cap out; the kernel computes what attn_implementation="eager" does'


_capped = {"terms": _soft_cap, "applies": lambda module: not _needs_no_kernel(module), "refuses": _leaves_its_cap_out,
           "blind": _mean_unless_it_learns}
_gemma = _decoder("attn_logit_softcapping", **_capped)


# T5Gemma's cross-attention.

def _t5gemma_cache_has(module, call):
    cache = caches_of(call)
    return cache is not None and bool(cache.is_updated.get(module.layer_idx))


def _t5gemma_can(module, call):
    cache, mask = caches_of(call), call.get("attention_mask")
    K = call["encoder_hidden_states"].shape[1]
    if _t5gemma_cache_has(module, call):
        K = cache.cross_attention_cache.layers[module.layer_idx].keys.shape[-2]
    is_static = cache is not None and cache.cross_attention_cache.is_compileable
    return implementation(module) == "eager" and not is_static and _fits_keys(mask, K)


def _t5gemma_heads(module, call):
    cache, D = caches_of(call), module.head_dim
    q = split(module.q_proj(call["hidden_states"]), D)
    if _t5gemma_cache_has(module, call):
        layer = cache.cross_attention_cache.layers[module.layer_idx]
        return q, layer.keys, layer.values
    k, v = (split(project(call["encoder_hidden_states"]), D) for project in (module.k_proj, module.v_proj))
    if cache is not None:
        k, v = cache.cross_attention_cache.update(k, v, module.layer_idx)
        cache.is_updated[module.layer_idx] = True
    return q, k, v


def _t5gemma_scores(module, call):
    (B, T), context = call["hidden_states"].shape[:2], call.get("encoder_hidden_states")
    return B * module.config.num_attention_heads * T * (0 if context is None else context.shape[1])


# Bloom and MPT, whose ALiBi is a score for each key.

def _bloom_can(module, call):
    alibi, K = call.get("alibi"), _length_of_keys(module, call, call.get("layer_past"))
    rows = call["hidden_states"].shape[0] * module.num_heads
    return isinstance(alibi, torch.Tensor) and alibi.shape == (rows, 1, K) and _fits_keys(call.get("attention_mask"), K)


def _bloom_heads(module, call):
    q, k, v = module._reshape(module.query_key_value(call["hidden_states"]))
    if call.get("layer_past") is None:
        return q, k, v
    return q, *call["layer_past"].update(k, v, module.layer_idx, {"cache_position": call.get("cache_position")})


def _bloom_terms(module, call, T, K):
    return {"key_scores": call["alibi"].view(-1, module.num_heads, K) * (module.beta / module.inv_norm_factor)}


def _bloom_result(module, call, y, terms):
    y = torch.nn.functional.dropout(module.dense(merged(y)), module.hidden_dropout, module.training)
    return call["residual"] + y, None


def _bloom_in_slices(module):
    return "multiplies in slices, by slow_but_exact" if module.pretraining_tp > 1 and module.slow_but_exact else None


def _bloom_scores(module, call):
    alibi = call.get("alibi")
    return call["hidden_states"].shape[1] * (alibi.shape[0] * alibi.shape[-1] if isinstance(alibi, torch.Tensor) else 0)


class _Unasked(tuple):
    """A cache_position on its way to an attention whose weights nobody asks for."""


def mpt_block(block, call, original, is_short):
    """MPT's attention always returns its weights: the block around it knows who asks for them."""
    if not call.get("output_attentions") and is_accelerated(block.attn):
        call["cache_position"] = _Unasked((call.get("cache_position"),))
    return original(block, **call)


def _mpt_plain(module, call):
    position = call.get("cache_position")
    return call | {"cache_position": position[0]} if isinstance(position, _Unasked) else call


def _mpt_can(module, call):
    bias, K = call.get("position_bias"), _length_of_keys(module, call, call.get("past_key_values"))
    return isinstance(call.get("cache_position"), _Unasked) and _fits_keys(call.get("attention_mask"), K) and (
        bias is None or bias.dim() == 3 and bias.shape[:2] == (module.n_heads, 1) and bias.shape[2] >= K)


def _mpt_heads(module, call):
    qkv, cache = module.Wqkv(call["hidden_states"]), call.get("past_key_values")
    if module.clip_qkv:
        qkv = qkv.clamp(-module.clip_qkv, module.clip_qkv)
    q, k, v = (split(each, module.head_dim) for each in qkv.chunk(3, 2))
    if cache is None:
        return q, k, v
    return q, *cache.update(k, v, module.layer_idx, {"cache_position": call["cache_position"][0]})


def _mpt_terms(module, call, T, K):
    x, bias = call["hidden_states"], call.get("position_bias")
    if bias is None:
        return {}
    wide = torch.promote_types(x.dtype, torch.float32)
    return {"key_scores": (bias[:, 0, -K:].to(wide) / module.softmax_scale).expand(len(x), -1, -1)}


def _mpt_scores(module, call):
    (B, T), mask = call["hidden_states"].shape[:2], call.get("attention_mask")
    return B * module.n_heads * T * (T if mask is None else mask.shape[-1])


causal_models = {
    "gemma2.modeling_gemma2.Gemma2Attention": _gemma,
    "vaultgemma.modeling_vaultgemma.VaultGemmaAttention": _gemma,
    "t5gemma.modeling_t5gemma.T5GemmaSelfAttention": _gemma,
    "t5gemma.modeling_t5gemma.T5GemmaCrossAttention": _decoder(
        "attn_logit_softcapping", takes="hidden_states encoder_hidden_states attention_mask past_key_values cache",
        heads=_t5gemma_heads, can=_t5gemma_can, scores=_t5gemma_scores, **_capped),
    "gpt_oss.modeling_gpt_oss.GptOssAttention": _decoder(
        "sinks", terms=lambda module, call, T, K: {"sink": module.sinks}, blind=lambda module: "zero"),
    "bloom.modeling_bloom.BloomAttention": Row(
        _checked, "hidden_states residual alibi attention_mask layer_past",
        modules="query_key_value dense attention_dropout",
        values="num_heads head_dim beta inv_norm_factor hidden_dropout pretraining_tp slow_but_exact layer_idx _reshape",
        refuses=_bloom_in_slices, heads=_bloom_heads, terms=_bloom_terms, can=_bloom_can, scores=_bloom_scores,
        scale=lambda module: module.inv_norm_factor, dropout=lambda module: module.attention_dropout,
        result=_bloom_result, blind=_mean_unless_it_learns),
    "mpt.modeling_mpt.MptAttention": Row(
        _checked, "hidden_states position_bias past_key_values attention_mask", modules="Wqkv out_proj",
        values="n_heads head_dim softmax_scale clip_qkv attn_dropout_p layer_idx", heads=_mpt_heads, terms=_mpt_terms,
        can=_mpt_can, scores=_mpt_scores, plain=_mpt_plain, scale=lambda module: module.softmax_scale,
        dropout=lambda module: module.attn_dropout_p, result=through("out_proj"), read=hides,
        blind=lambda module: "mean"),
}
