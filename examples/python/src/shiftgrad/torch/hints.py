"""What a name of another library means here, and a mistyped one."""

import difflib
import re

_elsewhere = {
    "n_heads": "n_head", "num_heads": "n_head", "nhead": "n_head", "num_attention_heads": "n_head",
    "hidden_size": "d_model", "embed_dim": "d_model", "n_embd": "d_model", "d_ff": "d_inner",
    "dim_feedforward": "d_inner", "n_layers": "n_layer", "num_layers": "n_layer", "is_causal": "causal",
    "max_seq_len": "max_len", "seq_len": "max_len", "window_size": "window",
    "transformer_xl": "transformer_xl_attention", "music_transformer": "relative_global_attention",
    "labml": "relative_multi_head_attention", "r_transformer": "r_transformer_block",
    "transformer": "transformer_block", "gpt": "language_model", "seq2seq": "encoder_decoder",
    "mha": "multi_head_attention", "rope": "multi_head_attention", "alibi": "multi_head_attention",
}


def _meant(name, known):
    if _elsewhere.get(name) in known:
        return _elsewhere[name]
    parts = [each for each in known if name and name in each]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return near[0] if near else parts[0] if len(parts) == 1 else None


def _around(name):
    """Where else the layer of that name belongs."""
    if name.endswith("_attention") or name in ("aft", "local_rnn"):
        return ", alone or as the mixer of a transformer_block, an encoder_decoder_block or a language_model"
    if name == "r_transformer_block":
        return ", of a local_rnn and a multi_head_attention, alone or as the block of a language_model"
    return ""


def hinted(refusal):
    """The line that refuses a name and lists those that there are, with the one that is meant, if that is clear."""
    unknown = re.search(r'unknown (?:layer|mixer type|config key) "([^"]*)", expected ([a-z0-9_, ]+)$', refusal)
    meant = unknown and _meant(unknown[1], re.split(", | or ", unknown[2]))
    around = _around(meant) if meant and "unknown layer" in unknown[0] else ""
    return f"{refusal}, did you mean {meant}{around}?" if meant else refusal
