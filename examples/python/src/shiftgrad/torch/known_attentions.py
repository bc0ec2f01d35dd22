"""The attentions of transformers and NeMo that accelerate replaces: one table, with a row for each class."""

import contextlib
import inspect
import math
import sys

import torch

from .causal_models import causal_models, mpt_block
from .operator import checked
from .remembered import remembered
from .row import (
    Host, Row, base, caches_of, dense, implementation, is_accelerated, merged, projected, same, scores_of, split, through)
from .speech_models import speech_hosts, speech_models
from .visibility import hides, seen

_checked = "transformers 4.57.6, 5.23.0 and 5.24.0"
_checked_4 = "transformers 4.57.6"


def are_alike(rows):
    """Whether the members of a batch have the same rows, also for the gradients. A compiler cannot see that.

    Each member's rows get a gradient of their own, unless one tensor stands for all.
    """
    if rows.shape[0] == 1 or rows.stride(0) == 0:
        return True
    if torch.compiler.is_compiling() or rows.requires_grad and torch.is_grad_enabled():
        return False
    return torch.equal(rows[1:], rows[:1].expand(rows.shape[0] - 1, *rows.shape[1:]))


def _by_position(project, positions, u, v, D):
    """The terms of Transformer-XL, with 2T - 1 rows in the argument `positions` [1 or B, 2T - 1, C]."""
    def terms(module, call, T, K):
        rows = call[positions]
        rows = rows[:1] if are_alike(rows) else rows
        rows = getattr(module, project)(rows).unflatten(-1, (-1, getattr(module, D)))  # [1 or B, n, H, D]
        return {"content_bias": getattr(module, u), "position_bias": getattr(module, v), "position_rows": rows}
    return terms


def _has_positions(name, x="hidden_states"):
    """Whether the call has 2T - 1 rows of positions for the T tokens of the input x."""
    def can(module, call):
        positions, (B, T) = call.get(name), call[x].shape[:2]
        return isinstance(positions, torch.Tensor) and positions.dim() == 3 and (
            positions.shape[1] == 2 * T - 1) and positions.shape[0] in (1, B)
    return can


_conformer = {
    "heads": projected("linear_q", "linear_k", "linear_v", "head_size"), "result": through("linear_out"),
    "scale": lambda module: module.head_size ** -0.5, "dropout": lambda module: module.dropout,
}
_conformer_modules = "linear_q linear_k linear_v linear_out dropout"
_conformer_terms = _by_position(
    "linear_pos", "relative_position_embeddings", "pos_bias_u", "pos_bias_v", "head_size")


def _clipped_keys(module, call, T, K):
    """Clipped keys, whose distances end at other places to the left and to the right."""
    left, right = module.left_max_position_embeddings, module.right_max_position_embeddings
    m = max(left, right)
    distance = torch.arange(-m, m + 1, device=module.distance_embedding.weight.device).clamp(-left, right)
    return {"clipped_keys": module.distance_embedding(distance + left)[:, None]}  # [2m + 1, 1, D]


def _wav2vec2_bert_terms(module, call, T, K):
    by_type = {"relative": _conformer_terms, "relative_key": _clipped_keys}
    return by_type[module.position_embeddings_type](module, call, T, K)


def _has_wav2vec2_bert_positions(module, call):
    return module.position_embeddings_type == "relative_key" or _has_positions(
        "relative_position_embeddings")(module, call)


def _has_parts_of_its_type(module):
    needed = {"relative": ("linear_pos", "pos_bias_u", "pos_bias_v"), "relative_key": (
        "distance_embedding", "left_max_position_embeddings", "right_max_position_embeddings")}
    return all(hasattr(module, name) for name in needed[module.position_embeddings_type])


def _vits_terms(module, call, T, K):
    """Clipped keys and values, which are 0 outside the window."""
    pad = lambda table: torch.nn.functional.pad(table[0], (0, 0, 1, 1))[:, None]  # [2w + 3, 1, D]
    return {"clipped_keys": pad(module.emb_rel_k), "clipped_values": pad(module.emb_rel_v)}


# NeMo's attention, which could also look from one sequence at another.

def _nemo_can(module, call):
    x, mask = call["query"], call.get("mask")
    return call.get("key") is x and call.get("value") is x and _has_positions("pos_emb", "query")(module, call) and (
        mask is None or mask.dtype is torch.bool)


# T5. Its bias by distance is a table [K + T - 1, H], which the first layer passes on to the others.

def _context(call):
    """What a cross-attention looks at; UMT5 has another name for it."""
    context = call.get("key_value_states")
    return call.get("encoder_hidden_states") if context is None else context


def _cache_of(call):
    cache, is_cross = caches_of(call), _context(call) is not None
    if cache is None or not hasattr(cache, "is_updated"):
        return cache
    return cache.cross_attention_cache if is_cross else cache.self_attention_cache


def _past(module, call):
    """The number of keys in the cache of a self-attention."""
    cache = _cache_of(call)
    return 0 if cache is None else cache.get_seq_length(module.layer_idx)


def _t5_mask(module, call):
    mask, is_cross = call.get("mask", call.get("attention_mask")), _context(call) is not None
    if mask is None:
        return {"causal": True} if _is_causal_without_mask(module, call) else None
    K = mask.shape[-1] if is_cross else _past(module, call) + call["hidden_states"].shape[1]
    return mask if mask.shape[-1] == K else mask[..., :K]


def _t5_scores(module, call):
    shape, mask = call["hidden_states"].shape, call.get("mask", call.get("attention_mask"))
    if mask is not None:
        K = mask.shape[-1]
    else:
        context = _context(call)
        K = _past(module, call) + shape[1] if context is None else context.shape[1]
    return shape[0] * module.n_heads * shape[1] * K


def _is_causal_without_mask(module, call):
    """transformers 5 leaves the causal mask out where scaled_dot_product_attention can be told so."""
    T = call["hidden_states"].shape[1]
    return implementation(module) == "sdpa" and getattr(module, "is_causal", False) and T > 1


def _t5_can(module, call):
    x, context, cache, bias = call["hidden_states"], _context(call), _cache_of(call), call.get("position_bias")
    if getattr(module, "pruned_heads", None):
        return False
    if cache is not None and getattr(cache, "is_compileable", False):  # whose keys are longer than what is there
        return False
    if context is not None:
        return bias is None and not module.has_relative_attention_bias
    past = _past(module, call)
    if bias is not None:
        return bias.dim() == 2 and bias.shape[0] == past + 2 * x.shape[1] - 1
    if call.get("mask", call.get("attention_mask")) is None and past and _is_causal_without_mask(module, call):
        return False
    if "cache_position" not in module._names_of_call or not module.has_relative_attention_bias:
        return True
    position = call.get("cache_position")
    if position is None:
        return not past and "query_length" not in module._names_of_call  # UMT5 counts from 0
    return position.shape == x.shape[1:2] and (
        torch.compiler.is_compiling() or torch.equal(position, _positions_after(past, x)))


def _positions_after(past, x):
    return torch.arange(past, past + x.shape[1], device=x.device)


def _last_position(call, K):
    """The position [1] of the newest of K keys, where the call's own positions are those that the kernel counts."""
    x, position = call["hidden_states"], call.get("cache_position")
    last = torch.tensor([K - 1], device=x.device)
    if position is None or not torch.compiler.is_compiling():
        return last
    return checked((position == _positions_after(K - x.shape[1], x)).all(), last, (
        "accelerate: a cache_position under torch.compile does not count on from the keys before, as the kernel does"))


def _t5_heads(module, call):
    x, context, cache, D = call["hidden_states"], _context(call), _cache_of(call), module.key_value_proj_dim
    q, updated = split(module.q(x), D), getattr(caches_of(call), "is_updated", None)
    if context is not None and updated is not None and updated.get(module.layer_idx):
        layer = cache.layers[module.layer_idx]
        return q, layer.keys, layer.values
    source = x if context is None else context
    k, v = split(module.k(source), D), split(module.v(source), D)
    if cache is not None:
        k, v = cache.update(k, v, module.layer_idx)
        if context is not None and updated is not None:
            updated[module.layer_idx] = True
    return q, k, v


def _t5_terms(module, call, T, K):
    table = call.get("position_bias")
    if table is None and module.has_relative_attention_bias:
        # One query at K - 1 sees keys at all distances, from K - 1 down to 1 - T.
        if "cache_position" in module._names_of_call:
            dense = module.compute_bias(1, K + T - 1, cache_position=_last_position(call, K))
        else:
            dense = module.compute_bias(1, K + T - 1, past_seen_tokens=K - 1)
        table = dense[0, :, 0].T  # [K + T - 1, H]
    return {} if table is None else {"position_scores": table}


def _t5_result(module, call, y, terms):
    y, table = module.o(merged(y)), terms.get("position_scores")
    return (y, table) if "cache_position" in module._names_of_call else (y, table, None)


def _t5_plain(module, call):
    """The bias that an earlier layer has passed on, in the dense form of the module's own code."""
    table = call.get("position_bias")
    if table is None or table.dim() != 2:
        return call
    bias = dense(table, call["hidden_states"].shape[1])
    if "cache_position" in module._names_of_call and call.get("mask") is not None:
        bias = bias + call["mask"][..., :bias.shape[-1]]  # as its own code passes it on
    return call | {"position_bias": bias}


def _t5(takes, result, plain=same, can=_t5_can, package=_checked):
    return Row(
        package, takes, heads=_t5_heads, terms=_t5_terms, scale=lambda module: getattr(module, "scaling", 1.0),
        dropout=lambda module: module.dropout, result=result, modules="q k v o",
        values="has_relative_attention_bias key_value_proj_dim n_heads dropout layer_idx compute_bias",
        fits=lambda module: not module.has_relative_attention_bias or hasattr(module, "relative_attention_bias"),
        can=can, scores=_t5_scores, mask=_t5_mask, plain=plain)


# LongT5's local attention, a window whose mask its stack makes in blocks [B, 1, n, block_len, 3 block_len].

def _is_whole(module, mask, B, T):
    """Whether a mask in blocks hides nothing but what is beyond the window."""
    def is_whole(mask):
        everything = torch.ones(B, T, device=mask.device)
        make = sys.modules[base(module).__module__]._get_local_attention_mask
        with mask.device:  # its code makes some tensors on the default device
            return torch.equal(mask, make(everything, module.block_len, mask.device))
    return remembered(mask, (module.block_len, B, T), is_whole)


def _local_can(module, call):
    (B, T), mask, bias = call["hidden_states"].shape[:2], call.get("mask"), call.get("position_bias")
    if getattr(module, "pruned_heads", None) or torch.compiler.is_compiling():
        return False
    if mask is None or mask.dtype is not torch.bool:
        return False
    if bias is None and not module.has_relative_attention_bias or bias is not None and bias.shape != (
            2 * T - 1, module.n_heads):
        return False
    return _is_whole(module, mask, B, T)


def _local_terms(module, call, T, K):
    table = call.get("position_bias")
    if table is None:
        ahead = torch.arange(1 - T, T, device=call["hidden_states"].device)
        table = module.relative_attention_bias(module._relative_position_bucket(
            ahead, not module.is_decoder, module.relative_attention_num_buckets,
            module.relative_attention_max_distance))
    return {"position_scores": table}  # [2T - 1, H]


def _local_plain(module, call):
    """The bias that an earlier layer has passed on, in blocks and with the mask, as its own code does."""
    table, T = call.get("position_bias"), call["hidden_states"].shape[1]
    if table is None or table.dim() != 2:
        return call
    n = module.block_len
    key = torch.arange(3 * n, device=table.device)
    behind = key[n:2 * n, None] - key  # [block_len, 3 block_len]
    bias = table[(T - 1 - behind).clamp(0, 2 * T - 2)].permute(2, 0, 1)[None, None]
    return call | {"position_bias": bias + torch.where(call["mask"] > 0, 0.0, -1e10).transpose(1, 2)}


# XLNet and Transformer-XL, which have the time first.

def _by_time(mask):
    """A mask [T, K, B, 1] or [T, K, B] as [B, T, K], or None."""
    if mask.dim() == 4 and mask.shape[3] == 1:
        mask = mask[..., 0]
    return mask.permute(2, 0, 1) if mask.dim() == 3 else None


def _xlnet_looks_back(call):
    """Whether there are rows for keys behind the query only."""
    return call["k_head_r"].shape[0] == call["k_head_h"].shape[0] + 1


def _xlnet_can(module, call):
    T, K, n = (call[name].shape[0] for name in ("q_head", "k_head_h", "k_head_r"))
    return n == K + T or n == K + 1 and call.get("attn_mask") is not None


def _xlnet_terms(module, call, T, K):
    return {"content_bias": module.r_w_bias, "position_bias": module.r_r_bias,
            "position_rows": call["k_head_r"][1:].transpose(0, 1)}  # [B, n, H, D]


def _behind(options, T, K):
    """What hides, for rows of keys behind the query alone, or None where it shows a key ahead."""
    if T == 1 or options.get("causal"):
        return options
    mask = options.get("attention_mask")
    if mask is None:
        return None
    hides_ahead = (mask | torch.ones(T, K, dtype=torch.bool, device=mask.device).tril(K - T)).all()
    if torch.compiler.is_compiling():
        mask = checked(hides_ahead, mask, "accelerate: a mask under torch.compile shows a key ahead of its query, "
                                          "for which the module has no row")
    elif not hides_ahead:
        return None
    return options | {"causal": True, "attention_mask": mask}


def _xlnet_agrees(module, call, options):
    T, K = (call[name].shape[0] for name in ("q_head", "k_head_h"))
    return _behind(options, T, K) if _xlnet_looks_back(call) else options


def _xlnet_scores(module, call):
    return math.prod(call["q_head"].shape[:3]) * call["k_head_h"].shape[0]


def _transfo_xl_scores(module, call):
    (T, B), mems = call["w"].shape[:2], call.get("mems")
    return B * module.n_head * T * (T + (0 if mems is None else mems.shape[0]))


def _transfo_xl_heads(module, call):
    w, mems = call["w"], call.get("mems")
    x = w if mems is None else torch.cat([mems, w])
    x = module.layer_norm(x) if module.pre_lnorm else x
    q, k, v = (part.unflatten(-1, (module.n_head, -1)).permute(1, 2, 0, 3) for part in module.qkv_net(x).chunk(3, -1))
    return q[:, :, -w.shape[0]:], k, v


def _transfo_xl_can(module, call):
    w, r, mems, mask = call["w"], call.get("r"), call.get("mems"), call.get("attn_mask")
    K = w.shape[0] + (0 if mems is None else mems.shape[0])
    return isinstance(r, torch.Tensor) and r.shape[0] == K and r.numel() == K * r.shape[-1] and mask is not None


def _transfo_xl_terms(module, call, T, K):
    rows = module.r_net(call["r"]).view(K, module.n_head, module.d_head)
    return {"content_bias": module.r_w_bias, "position_bias": module.r_r_bias, "position_rows": rows}


def _transfo_xl_result(module, call, y, terms):
    y = call["w"] + module.drop(module.o_net(y.permute(2, 0, 1, 3).flatten(2)))
    return [y if module.pre_lnorm else module.layer_norm(y)]


# DeBERTa.

def _deberta_scale(module):
    """1/√(D · terms), with the root rounded to a float as there."""
    return _inverse_root(module.attention_head_size * (
        1 + ("c2p" in module.pos_att_type) + ("p2c" in module.pos_att_type)))


def _inverse_root(x):
    x = math.sqrt(x)
    fraction, exponent = math.frexp(x)
    return 1 / math.ldexp(round(math.ldexp(fraction, 24)), exponent - 24)


def _deberta_positions(module, T, device):
    """The bucket of each distance from T - 1 down."""
    distance = torch.arange(T - 1, -T, -1, device=device)
    if getattr(module, "position_buckets", -1) > 0 and module.max_relative_positions > 0:
        bucket = sys.modules[base(module).__module__].make_log_bucket_position
        # SEW-D's function makes tensors on the default device.
        with contextlib.nullcontext() if torch.compiler.is_compiling() else device:
            distance = bucket(distance, module.position_buckets, module.max_relative_positions)
    return distance.long()


def _deberta_can(module, call):
    x, other, rows = call["hidden_states"], call.get("query_states"), call.get("rel_embeddings")
    if not isinstance(rows, torch.Tensor) or rows.shape[0] < 2 * module.pos_ebd_size:
        return False
    if other is not None and other.shape != x.shape or call.get("attention_mask") is None:
        return False
    given = call.get("relative_pos")
    if given is None or torch.compiler.is_compiling():
        return given is None or given.shape[-2:] == (x.shape[1],) * 2 and all(n == 1 for n in given.shape[:-2])
    return _is_usual(module, given, x.shape[1])


def _is_usual(module, relative_pos, T):
    """Whether relative_pos has the distances that the module would count itself. All layers share it."""
    def is_usual(given):
        return given.numel() == T * T and bool(_are_usual(module, given, T))

    key = T, getattr(module, "position_buckets", -1), module.max_relative_positions
    return remembered(relative_pos, key, is_usual)


def _are_usual(module, relative_pos, T):
    rows = _deberta_positions(module, T, relative_pos.device).unfold(0, T, 1)  # [T, T], the last query first
    return (relative_pos.reshape(T, T).flip(0) == rows).all()


def _deberta_distances(module, call, T):
    """The bucket of each distance from T - 1 down, which are those of the call."""
    given, counted = call.get("relative_pos"), _deberta_positions(module, T, call["hidden_states"].device)
    if given is None or not torch.compiler.is_compiling():
        return counted
    return checked(_are_usual(module, given, T), counted, (
        "accelerate: a relative_pos under torch.compile has other distances than the kernel counts"))


def _deberta_heads(module, call):
    x, other, D = call["hidden_states"], call.get("query_states"), module.attention_head_size
    return (split(module.query_proj(x if other is None else other), D), split(module.key_proj(x), D),
            split(module.value_proj(x), D))


def _deberta_terms(module, call, T, K):
    span = module.pos_ebd_size
    row = (_deberta_distances(module, call, T) + span).clamp(0, 2 * span - 1)
    table = module.pos_dropout(call["rel_embeddings"][:2 * span])
    own = "" if module.share_att_key else "pos_"
    by_distance = lambda name: getattr(module, own + name)(table)[row].unflatten(-1, (-1, module.attention_head_size))
    terms = {}
    if "c2p" in module.pos_att_type:
        terms["position_rows"] = by_distance("key_proj")  # [n, H, D]
    if "p2c" in module.pos_att_type:
        terms["position_queries"] = by_distance("query_proj")
    return terms


def _deberta_fits(module):
    needed = {"c2p": "pos_key_proj", "p2c": "pos_query_proj"}
    return module.share_att_key or all(hasattr(module, needed[each]) for each in module.pos_att_type if each in needed)


_deberta = {
    "modules": "query_proj key_proj value_proj dropout pos_dropout",
    "values": "attention_head_size num_attention_heads share_att_key pos_att_type position_buckets "
              "max_relative_positions pos_ebd_size",
    "applies": lambda module: getattr(module, "relative_attention", True), "fits": _deberta_fits,
    "heads": _deberta_heads, "terms": _deberta_terms, "scale": _deberta_scale,
    "scores": lambda module, call: scores_of(call["hidden_states"], module.num_attention_heads),
    "dropout": lambda module: module.dropout, "read": seen,
}


def _sew_d_can(module, call):
    """SEW-D's dropout may take the mask of an earlier call from a context."""
    return module.dropout.context_stack is None and _deberta_can(module, call)


# The first DeBERTa, which projects to the heads at once and has no buckets.

def _first_deberta_can(module, call):
    rows, given, T = call.get("rel_embeddings"), call.get("relative_pos"), call["hidden_states"].shape[1]
    if not isinstance(rows, torch.Tensor) or not isinstance(given, torch.Tensor) or call.get("attention_mask") is None:
        return False
    if rows.shape[0] != 2 * module.max_relative_positions or given.numel() != T * T:
        return False
    return torch.compiler.is_compiling() or _is_usual(module, given, T)


def _first_deberta_heads(module, call):
    q, k, v = split(module.in_proj(call["hidden_states"]), 3 * module.attention_head_size).chunk(3, -1)
    q_bias, v_bias = (split(bias[None, None], module.attention_head_size) for bias in (module.q_bias, module.v_bias))
    return q + q_bias, k, v + v_bias


def _first_deberta_terms(module, call, T, K):
    most = module.max_relative_positions
    span = min(T, most)
    row = (_deberta_distances(module, call, T) + span).clamp(0, 2 * span - 1)
    table = module.pos_dropout(call["rel_embeddings"][most - span:most + span])
    by_distance = lambda project: project(table)[row].unflatten(-1, (-1, module.attention_head_size))  # [n, H, D]
    terms = {}
    if "c2p" in module.pos_att_type:
        terms["position_rows"] = by_distance(module.pos_proj)
    if "p2c" in module.pos_att_type:
        terms["position_queries"] = by_distance(module.pos_q_proj)
    return terms


# MPNet. Its encoder makes one dense bias for all layers; here it makes a table [2T - 1, H].

def _mpnet_encoder(encoder, call, original, is_short):
    (B, T), layers = call["x"].shape[:2], encoder.layer
    if call.get("position_ids") is not None or is_short(B * encoder.n_heads * T * T) or not all(
            is_accelerated(layer.attention.attn) for layer in layers):
        return original(encoder, **call)
    distance = torch.arange(1 - T, T, device=call["x"].device)
    return encoder.relative_attention_bias(encoder.relative_position_bucket(
        distance, num_buckets=call.get("num_buckets", 32)))


def _mpnet_can(module, call):
    bias = call.get("position_bias")
    return bias is None or bias.shape == (2 * call["hidden_states"].shape[1] - 1, module.num_attention_heads)


def _mpnet_terms(module, call, T, K):
    table = call.get("position_bias")
    return {} if table is None else {"position_scores": table * math.sqrt(module.attention_head_size)}


def _mpnet_plain(module, call):
    bias = call.get("position_bias")
    if bias is None or bias.dim() != 2:
        return call
    return call | {"position_bias": dense(bias, call["hidden_states"].shape[1])}


# UMT5 of transformers 4, whose attention always returns its weights: the block around it knows who asks for them.

_unasked = "nobody asks for the weights"


def _umt5_block(block, call, original, is_short):
    """A block that hands on to its accelerated attentions that nobody asks for their weights."""
    attentions = {"layer_head_mask": getattr(block.layer[0], "SelfAttention", None),
                  "cross_attn_layer_head_mask": getattr(block.layer[1], "EncDecAttention", None)}
    unasked = {name: _unasked for name, attention in attentions.items()
               if not call.get("output_attentions") and call.get(name) is None and is_accelerated(attention)}
    return original(block, **call | unasked)


def _umt5_can(module, call):
    return ("layer_head_mask" not in module._names_of_call or _is_unasked(call)) and _t5_can(module, call)


def _is_unasked(call):
    return isinstance(call.get("layer_head_mask"), str)


def _umt5_plain(module, call):
    return call | {"layer_head_mask": None} if _is_unasked(call) else call


_t5_takes = "hidden_states mask key_value_states position_bias past_key_values cache"

known = {
    "parakeet.modeling_parakeet.ParakeetEncoderAttention": Row(
        _checked, "hidden_states position_embeddings attention_mask",
        modules="q_proj k_proj v_proj o_proj relative_k_proj", tensors="bias_u bias_v",
        values="head_dim scaling attention_dropout num_key_value_groups config",
        fits=lambda module: module.num_key_value_groups == 1, can=_has_positions("position_embeddings"),
        heads=projected("q_proj", "k_proj", "v_proj", "head_dim"), result=through("o_proj"),
        terms=_by_position("relative_k_proj", "position_embeddings", "bias_u", "bias_v", "head_dim"),
        scores=lambda module, call: scores_of(call["hidden_states"], module.config.num_attention_heads),
        scale=lambda module: module.scaling, dropout=lambda module: module.attention_dropout, read=seen,
        blind=lambda module: "zero" if module._is_of_transformers_4 else "rounded"),
    "wav2vec2_conformer.modeling_wav2vec2_conformer.Wav2Vec2ConformerSelfAttention": Row(
        _checked, "hidden_states attention_mask relative_position_embeddings", **_conformer,
        modules=_conformer_modules + " linear_pos", tensors="pos_bias_u pos_bias_v", values="head_size num_heads",
        applies=lambda module: getattr(module, "position_embeddings_type", "relative") == "relative",
        can=_has_positions("relative_position_embeddings"), terms=_conformer_terms),
    "seamless_m4t.modeling_seamless_m4t.SeamlessM4TConformerSelfAttention": Row(
        _checked_4, "hidden_states attention_mask relative_position_embeddings", **_conformer,
        modules=_conformer_modules + " linear_pos", tensors="pos_bias_u pos_bias_v", values="head_size num_heads",
        applies=lambda module: getattr(module, "position_embeddings_type", "relative") == "relative",
        can=_has_positions("relative_position_embeddings"), terms=_conformer_terms),
    "fastspeech2_conformer.modeling_fastspeech2_conformer.FastSpeech2ConformerAttention": Row(
        _checked, "hidden_states attention_mask pos_emb", modules=_conformer_modules + " linear_pos",
        tensors="pos_bias_u pos_bias_v", values="head_dim num_heads",
        can=_has_positions("pos_emb"), heads=projected("linear_q", "linear_k", "linear_v", "head_dim"),
        terms=_by_position("linear_pos", "pos_emb", "pos_bias_u", "pos_bias_v", "head_dim"),
        result=through("linear_out"), scale=lambda module: module.head_dim ** -0.5,
        dropout=lambda module: module.dropout, read=seen, blind=lambda module: "zero"),
    "wav2vec2_bert.modeling_wav2vec2_bert.Wav2Vec2BertSelfAttention": Row(
        _checked, "hidden_states attention_mask relative_position_embeddings", **_conformer,
        modules=_conformer_modules, values="head_size num_heads",
        applies=lambda module: getattr(module, "position_embeddings_type", "relative") in ("relative", "relative_key"),
        fits=_has_parts_of_its_type, can=_has_wav2vec2_bert_positions, terms=_wav2vec2_bert_terms),
    "seamless_m4t_v2.modeling_seamless_m4t_v2.SeamlessM4Tv2ConformerSelfAttention": Row(
        _checked, "hidden_states attention_mask", **_conformer, modules=_conformer_modules + " distance_embedding",
        values="head_size num_heads left_max_position_embeddings right_max_position_embeddings",
        applies=lambda module: getattr(module, "position_embeddings_type", "relative_key") == "relative_key",
        terms=_clipped_keys),
    "vits.modeling_vits.VitsAttention": Row(
        _checked, "hidden_states attention_mask", modules="q_proj k_proj v_proj out_proj",
        tensors="emb_rel_k emb_rel_v", values="head_dim num_heads scaling dropout", terms=_vits_terms,
        applies=lambda module: bool(getattr(module, "window_size", True)),
        heads=projected("q_proj", "k_proj", "v_proj", "head_dim"), result=through("out_proj"),
        scale=lambda module: module.scaling, dropout=lambda module: module.dropout),
    "t5.modeling_t5.T5Attention": _t5(_t5_takes, _t5_result, _t5_plain),
    "mt5.modeling_mt5.MT5Attention": _t5(_t5_takes, _t5_result, _t5_plain),
    "pop2piano.modeling_pop2piano.Pop2PianoAttention": _t5(_t5_takes, _t5_result, _t5_plain),
    "umt5.modeling_umt5.UMT5Attention": _t5(
        "hidden_states encoder_hidden_states attention_mask past_key_values cache layer_head_mask",
        lambda module, call, y, terms: (module.o(merged(y)), None), _umt5_plain, _umt5_can),
    "switch_transformers.modeling_switch_transformers.SwitchTransformersAttention": _t5(
        _t5_takes, _t5_result, _t5_plain, package=_checked_4),
    "longt5.modeling_longt5.LongT5Attention": _t5(_t5_takes, _t5_result, _t5_plain, package=_checked_4),
    "longt5.modeling_longt5.LongT5LocalAttention": Row(
        _checked_4, "hidden_states mask position_bias", modules="q k v o",
        values="has_relative_attention_bias is_decoder block_len key_value_proj_dim n_heads dropout "
               "_relative_position_bucket", heads=projected("q", "k", "v", "key_value_proj_dim"), terms=_local_terms,
        can=_local_can, plain=_local_plain, scale=lambda module: 1.0, dropout=lambda module: module.dropout,
        scores=lambda module, call: module.n_heads * math.prod(call["hidden_states"].shape[:2]) * min(
            2 * module.block_len - 1, call["hidden_states"].shape[1]),
        mask=lambda module, call: {"window": (module.block_len - 1,) * 2},
        result=lambda module, call, y, terms: (module.o(merged(y)), terms["position_scores"])),
    "mpnet.modeling_mpnet.MPNetSelfAttention": Row(
        _checked_4, "hidden_states attention_mask position_bias", modules="q k v o dropout",
        values="num_attention_heads attention_head_size", heads=projected("q", "k", "v", "attention_head_size"),
        terms=_mpnet_terms, can=_mpnet_can, plain=_mpnet_plain,
        scores=lambda module, call: scores_of(call["hidden_states"], module.num_attention_heads),
        scale=lambda module: module.attention_head_size ** -0.5, dropout=lambda module: module.dropout,
        result=lambda module, call, y, terms: (module.o(merged(y)),)),
    "xlnet.modeling_xlnet.XLNetRelativeAttention": Row(
        _checked, "q_head k_head_h v_head_h k_head_r attn_mask", method="rel_attn_core",
        modules="dropout layer_norm", tensors="q k v o r r_w_bias r_r_bias", values="scale",
        heads=lambda module, call: (call[name].permute(1, 2, 0, 3) for name in ("q_head", "k_head_h", "v_head_h")),
        terms=_xlnet_terms, scores=_xlnet_scores, scale=lambda module: module.scale,
        dropout=lambda module: module.dropout,
        result=lambda module, call, y, terms: y.permute(2, 0, 1, 3), can=_xlnet_can,
        mask=lambda module, call: call.get("attn_mask"), rows=_by_time, read=hides,
        agrees=_xlnet_agrees),
    "deprecated.transfo_xl.modeling_transfo_xl.RelPartialLearnableMultiHeadAttn": Row(
        _checked_4, "w r attn_mask mems", modules="qkv_net o_net r_net layer_norm drop dropatt",
        tensors="r_w_bias r_r_bias", values="n_head d_head scale pre_lnorm", heads=_transfo_xl_heads,
        terms=_transfo_xl_terms, scores=_transfo_xl_scores, scale=lambda module: module.scale,
        dropout=lambda module: module.dropatt,
        result=_transfo_xl_result, can=_transfo_xl_can, mask=lambda module, call: call.get("attn_mask"),
        rows=_by_time, read=hides,
        agrees=lambda module, call, options: _behind(options, call["w"].shape[0], call["r"].shape[0])),
    "deberta_v2.modeling_deberta_v2.DisentangledSelfAttention": Row(
        _checked, "hidden_states attention_mask query_states relative_pos rel_embeddings", **_deberta,
        can=_deberta_can, result=lambda module, call, y, terms: (merged(y), None), blind=lambda module: "mean"),
    "sew_d.modeling_sew_d.DisentangledSelfAttention": Row(
        _checked_4, "hidden_states attention_mask query_states relative_pos rel_embeddings", **_deberta,
        can=_sew_d_can, result=lambda module, call, y, terms: (
            merged(y) if "output_attentions" in module._names_of_call else (merged(y), None)),
        blind=lambda module: "zero"),
    "deberta.modeling_deberta.DisentangledSelfAttention": Row(
        _checked_4, "hidden_states attention_mask relative_pos rel_embeddings", modules="in_proj dropout pos_dropout",
        tensors="q_bias v_bias",
        values="attention_head_size num_attention_heads pos_att_type max_relative_positions talking_head",
        applies=lambda module: getattr(module, "relative_attention", True), can=_first_deberta_can,
        refuses=lambda module: "mixes its heads, by talking_head" if module.talking_head else None,
        heads=_first_deberta_heads, terms=_first_deberta_terms,
        scale=lambda module: _inverse_root(module.attention_head_size * (1 + len(module.pos_att_type))),
        scores=lambda module, call: scores_of(call["hidden_states"], module.num_attention_heads),
        dropout=lambda module: module.dropout,
        result=lambda module, call, y, terms: (merged(y), None), read=seen, blind=lambda module: "mean"),
    "nemo.collections.asr.parts.submodules.multi_head_attention.RelPositionMultiHeadAttention": Row(
        "NeMo 3.0.0", "query key value mask pos_emb", modules=_conformer_modules + " linear_pos",
        tensors="pos_bias_u pos_bias_v", values="d_k h use_pytorch_sdpa dropout_rate", can=_nemo_can,
        heads=projected("linear_q", "linear_k", "linear_v", "d_k", "query"),
        terms=_by_position("linear_pos", "pos_emb", "pos_bias_u", "pos_bias_v", "d_k"),
        scores=lambda module, call: scores_of(call["query"], module.h), scale=lambda module: module.d_k ** -0.5,
        dropout=lambda module: module.dropout_rate if module.use_pytorch_sdpa else module.dropout,
        result=lambda module, call, y, terms: module.linear_out(merged(y)),
        mask=lambda module, call: call.get("mask"), read=hides, blind=lambda module: "zero"),
} | causal_models | speech_models

hosts = {
    "umt5.modeling_umt5.UMT5Block": Host(
        _umt5_block, applies=lambda kind: "layer_head_mask" in inspect.signature(kind.forward).parameters),
    "mpt.modeling_mpt.MptBlock": Host(mpt_block),
    "mpnet.modeling_mpnet.MPNetEncoder": Host(_mpnet_encoder, method="compute_position_bias"),
} | speech_hosts
