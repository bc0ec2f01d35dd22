"""The models that are timed, in the sizes of those that people use, with random parameters."""

import torch


def _parakeet(layers):
    from transformers.models.parakeet import modeling_parakeet as parakeet
    config = parakeet.ParakeetEncoderConfig(
        hidden_size=1024, num_hidden_layers=layers or 24, num_attention_heads=8, intermediate_size=4096,
        max_position_embeddings=20000)
    config._attn_implementation = "sdpa"
    return parakeet.ParakeetEncoder(config)


def _deberta(layers):
    from transformers import DebertaV2Config, DebertaV2Model
    return DebertaV2Model(DebertaV2Config(
        vocab_size=1000, hidden_size=768, num_hidden_layers=layers or 12, num_attention_heads=12,
        intermediate_size=3072, relative_attention=True, position_buckets=256, max_relative_positions=-1,
        max_position_embeddings=512, share_att_key=True, pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm",
        position_biased_input=False, type_vocab_size=0))


def _t5(layers):
    from transformers import T5Config, T5ForConditionalGeneration
    return T5ForConditionalGeneration(T5Config(
        vocab_size=1000, d_model=768, d_kv=64, d_ff=3072, num_layers=layers or 12, num_heads=12,
        decoder_start_token_id=0, use_cache=False))


def _w2v_bert(layers):
    from transformers import Wav2Vec2BertConfig, Wav2Vec2BertModel
    # Its masks for training come from NumPy, and torch.compile has no rule for how they are put in.
    return Wav2Vec2BertModel(Wav2Vec2BertConfig(
        num_hidden_layers=layers or 24, layerdrop=0.0, apply_spec_augment=False))


def _tokens(T):
    return torch.randint(1000, (1, T))


# Of each model: its maker, its lengths, how these are called, and the arguments of a call of such a length.
models = {
    "Parakeet-0.6B encoder": (
        _parakeet, (1, 5, 20), "{} min", lambda minutes: {"input_features": torch.randn(1, 6000 * minutes, 80)}),
    "DeBERTa-v3-base": (_deberta, (512, 1024, 2048), "{} tokens", lambda T: {"input_ids": _tokens(T)}),
    "T5-base": (
        _t5, (512, 2048), "{} tokens", lambda T: {"input_ids": _tokens(T), "decoder_input_ids": _tokens(T // 4)}),
    "w2v-BERT 2.0": (
        _w2v_bert, (30, 180), "{} s", lambda seconds: {"input_features": torch.randn(1, 50 * seconds, 160)}),
}


def megabytes(name, layers):
    """What the parameters of a model take."""
    with torch.device("meta"):
        model = models[name][0](layers)
    return sum(each.numel() * each.element_size() for each in model.parameters()) / 2**20
