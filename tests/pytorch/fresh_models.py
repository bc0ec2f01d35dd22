"""Small models of transformers with every class that sg.accelerate knows, of parameters that matter."""

import contextlib
from unittest import mock

import torch

import shiftgrad.torch as sg
from shiftgrad.torch import accelerated

try:
    import transformers
    from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta
    from transformers.models.fastspeech2_conformer import modeling_fastspeech2_conformer as fastspeech2
    from transformers.models.mt5 import modeling_mt5 as mt5
    from transformers.models.parakeet import modeling_parakeet as parakeet
    from transformers.models.pop2piano import modeling_pop2piano as pop2piano
    from transformers.models.seamless_m4t_v2 import modeling_seamless_m4t_v2 as seamless
    from transformers.models.t5 import modeling_t5 as t5
    from transformers.models.umt5 import modeling_umt5 as umt5
    from transformers.models.vits import modeling_vits as vits
    from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert as bert
    from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer as conformer
    from transformers.models.xlnet import modeling_xlnet as xlnet
    missing = None
except ImportError as error:
    missing = str(error)
try:
    from transformers.models.deprecated.transfo_xl import modeling_transfo_xl as transfo_xl
    transfo_xl_missing = missing
except ImportError as error:
    transfo_xl_missing = str(error)

accelerated.LEAST_SCORES = 0  # the kernel computes what is short, too

B, T, C, H, L = 2, 9, 12, 3, 2
lengths = torch.tensor([T, T - 3])
kept = torch.arange(T)[None] < lengths[:, None]  # [B, T]


def randomize(model):
    """Every parameter gets a value that matters."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.uniform_(-0.4, 0.4)
    return model.double().eval()


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


@contextlib.contextmanager
def counted():
    """Counts the calls of the kernel."""
    with mock.patch.object(accelerated, "relative_attention", wraps=sg.relative_attention) as kernel:
        yield kernel


def check_dropout(test, model, run):
    """In training the kernel drops a share of 0.3, by torch's seed; in eval it drops nothing."""
    with counted() as kernel:
        test.assertTrue(torch.equal(run(), run()))
    test.assertEqual({call.kwargs["dropout_p"] for call in kernel.call_args_list}, {0.0})
    model.train()
    with counted() as kernel:
        torch.manual_seed(1)
        first, second = run(), run()
        torch.manual_seed(1)
        test.assertTrue(torch.equal(run(), first))
    test.assertFalse(torch.equal(first, second))
    test.assertEqual({call.kwargs["dropout_p"] for call in kernel.call_args_list}, {0.3})


def least_scores(scores):
    """Lets the kernel compute calls of so many scores and more, on any number of threads."""
    return mock.patch.object(accelerated, "_is_short", lambda given: given < scores)


@contextlib.contextmanager
def in_double():
    """Lets transformers 4.57.6 compute in double: T5 and others round their probabilities to floats, and Transformer-XL
    calls type_as with a dtype, which no torch takes."""
    type_as, to_float, softmax = torch.Tensor.type_as, torch.Tensor.float, torch.nn.functional.softmax
    with mock.patch.object(torch.Tensor, "type_as", lambda tensor, other=None, dtype=None: (
            tensor.to(dtype) if other is None else type_as(tensor, other))):
        with mock.patch.object(torch.Tensor, "float", lambda tensor: (
                tensor if tensor.dtype is torch.float64 and tensor.dim() >= 4 else to_float(tensor))):
            with mock.patch.object(torch.nn.functional, "softmax", lambda x, dim=None, dtype=None, **_: (
                    softmax(x, dim, dtype=None if x.dtype is torch.float64 else dtype))):
                yield


@contextlib.contextmanager
def default_dtype(dtype):
    """Makes tensors of this dtype where none is said, as MPT does its mask."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def config_of(kind, implementation=None, **fields):
    config = kind(**fields)
    if implementation is not None:
        config._attn_implementation = implementation
    return config


def parakeet_encoder(implementation="sdpa", **more):
    # With "eager", transformers 4.57.6 makes NaN of tokens that are padding.
    return randomize(parakeet.ParakeetEncoder(config_of(
        parakeet.ParakeetEncoderConfig, implementation, hidden_size=C, num_hidden_layers=L, num_attention_heads=H,
        intermediate_size=16, attention_bias=True, conv_kernel_size=3, subsampling_factor=2,
        subsampling_conv_channels=4, num_mel_bins=8, dropout=0, dropout_positions=0, layerdrop=0,
        activation_dropout=0, attention_dropout=0, **more)))


_conformer = {
    "hidden_size": C, "num_hidden_layers": L, "num_attention_heads": H, "intermediate_size": 16,
    "hidden_dropout": 0, "attention_dropout": 0, "layerdrop": 0, "conformer_conv_dropout": 0,
    "conv_depthwise_kernel_size": 3, "activation_dropout": 0,
}


def conformer_encoder(implementation="eager", **more):
    return randomize(conformer.Wav2Vec2ConformerEncoder(config_of(
        conformer.Wav2Vec2ConformerConfig, implementation, **_conformer, num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2, **{"position_embeddings_type": "relative"} | more)))


def bert_encoder(implementation="eager", **more):
    return randomize(bert.Wav2Vec2BertEncoder(config_of(bert.Wav2Vec2BertConfig, implementation, **_conformer | {
        "position_embeddings_type": "relative_key", "left_max_position_embeddings": 4,
        "right_max_position_embeddings": 2} | more)))


def seamless_encoder(implementation="eager", **more):
    return randomize(seamless.SeamlessM4Tv2ConformerEncoder(config_of(
        seamless.SeamlessM4Tv2Config, implementation, hidden_size=C, speech_encoder_layers=L,
        speech_encoder_attention_heads=H, speech_encoder_intermediate_size=16, speech_encoder_dropout=0,
        speech_encoder_layerdrop=0, conv_depthwise_kernel_size=3, position_embeddings_type="relative_key",
        left_max_position_embeddings=2, right_max_position_embeddings=5, **{
            "speech_encoder_chunk_size": 4, "speech_encoder_left_chunk_num": 1} | more)))


def fastspeech2_encoder():
    config = fastspeech2.FastSpeech2ConformerConfig(
        hidden_size=C, encoder_layers=L, encoder_num_attention_heads=H, encoder_linear_units=16,
        encoder_kernel_size=3, encoder_dropout_rate=0.0, encoder_positional_dropout_rate=0.0,
        encoder_attention_dropout_rate=0.0)
    return randomize(fastspeech2.FastSpeech2ConformerEncoder(config, config.encoder_config))


def vits_encoder(window=4):
    return randomize(vits.VitsEncoder(vits.VitsConfig(
        hidden_size=C, num_hidden_layers=L, num_attention_heads=H, ffn_dim=16, window_size=window, hidden_dropout=0,
        attention_dropout=0, activation_dropout=0, layerdrop=0)))


def t5_model(module=None, name="T5", implementation=None, **more):
    module = module or t5
    return randomize(getattr(module, name + "ForConditionalGeneration")(config_of(
        getattr(module, name + "Config"), implementation, **{
            "vocab_size": 30, "d_model": C, "d_kv": 4, "d_ff": 16, "num_layers": L, "num_decoder_layers": L,
            "num_heads": H, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12,
            "dropout_rate": 0, "pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 29} | more)))


def xlnet_model(**more):
    return randomize(xlnet.XLNetLMHeadModel(xlnet.XLNetConfig(**{
        "vocab_size": 30, "d_model": C, "n_head": H, "d_inner": 16, "n_layer": L, "mem_len": 5, "dropout": 0,
        "pad_token_id": 0} | more)))


def transfo_xl_model(**more):
    return randomize(transfo_xl.TransfoXLModel(transfo_xl.TransfoXLConfig(**{
        "vocab_size": 30, "cutoffs": [], "d_model": C, "d_embed": C, "n_head": H, "d_head": 4, "d_inner": 16,
        "n_layer": L, "mem_len": 5, "dropout": 0, "dropatt": 0, "adaptive": False, "div_val": 1,
        "pad_token_id": 0} | more)))


def deberta_model(**more):
    return randomize(transformers.DebertaV2Model(transformers.DebertaV2Config(**{
        "vocab_size": 30, "hidden_size": C, "num_hidden_layers": L, "num_attention_heads": H, "intermediate_size": 16,
        "relative_attention": True, "position_buckets": 4, "max_relative_positions": 12, "share_att_key": True,
        "pos_att_type": ["c2p", "p2c"], "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0,
        "max_position_embeddings": 20, "norm_rel_ebd": "layer_norm"} | more)))


def mpnet_model(**more):
    return randomize(transformers.MPNetModel(transformers.MPNetConfig(**{
        "vocab_size": 30, "hidden_size": C, "num_hidden_layers": L, "num_attention_heads": H, "intermediate_size": 16,
        "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0, "max_position_embeddings": 20} | more)))


_decoder = {
    "vocab_size": 30, "hidden_size": C, "num_hidden_layers": L, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 4, "intermediate_size": 16, "sliding_window": 4, "attention_dropout": 0, "pad_token_id": 0,
}
_capped = _decoder | {"attn_logit_softcapping": 0.5, "query_pre_attn_scalar": 5}


def gemma_model(kind="Gemma2", implementation="eager", **more):
    return randomize(getattr(transformers, kind + "ForCausalLM")(config_of(
        getattr(transformers, kind + "Config"), implementation, **_capped | more)))


def t5gemma_model(implementation="eager", **more):
    part = _capped | {"dropout_rate": 0} | more
    config = transformers.T5GemmaConfig(encoder=dict(part), decoder=dict(part), vocab_size=30, dropout_rate=0)
    for each in (config, config.encoder, config.decoder):
        each._attn_implementation = implementation
    return randomize(transformers.T5GemmaForConditionalGeneration(config))


def gpt_oss_model(**more):
    return randomize(transformers.GptOssForCausalLM(config_of(
        transformers.GptOssConfig, "eager", **_decoder | {
            "num_local_experts": 2, "num_experts_per_tok": 1, "experts_implementation": "eager"} | more)))


def bloom_model(**more):
    return randomize(transformers.BloomForCausalLM(transformers.BloomConfig(**{
        "vocab_size": 30, "hidden_size": C, "n_layer": L, "n_head": H, "hidden_dropout": 0, "attention_dropout": 0,
        "pad_token_id": 0} | more)))


def mpt_model(**more):
    attention = {name: more.pop(name) for name in ("attn_pdrop", "clip_qkv", "softmax_scale") if name in more}
    return randomize(transformers.MptForCausalLM(transformers.MptConfig(**{
        "vocab_size": 30, "d_model": C, "n_layers": L, "n_heads": H, "max_seq_len": 20, "resid_pdrop": 0,
        "attn_config": attention} | more)))


def first_deberta_model(**more):
    return randomize(transformers.DebertaModel(transformers.DebertaConfig(**{
        "vocab_size": 30, "hidden_size": C, "num_hidden_layers": L, "num_attention_heads": H, "intermediate_size": 16,
        "relative_attention": True, "max_relative_positions": 12, "pos_att_type": ["c2p", "p2c"],
        "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0, "max_position_embeddings": 20} | more)))


def first_seamless_encoder(**more):
    from transformers.models.seamless_m4t import modeling_seamless_m4t
    return randomize(modeling_seamless_m4t.SeamlessM4TConformerEncoder(transformers.SeamlessM4TConfig(**{
        "hidden_size": C, "speech_encoder_layers": L, "speech_encoder_attention_heads": H,
        "speech_encoder_intermediate_size": 16, "speech_encoder_dropout": 0, "speech_encoder_layerdrop": 0,
        "conv_depthwise_kernel_size": 3, "position_embeddings_type": "relative"} | more)))


def wavlm_encoder(stable=False, **more):
    from transformers.models.wavlm import modeling_wavlm
    kind = modeling_wavlm.WavLMEncoderStableLayerNorm if stable else modeling_wavlm.WavLMEncoder
    return randomize(kind(transformers.WavLMConfig(**{
        "hidden_size": C, "num_hidden_layers": L, "num_attention_heads": H, "intermediate_size": 16, "num_buckets": 8,
        "max_bucket_distance": 12, "hidden_dropout": 0, "attention_dropout": 0, "activation_dropout": 0, "layerdrop": 0,
        "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2} | more)))


def speecht5_encoder(**more):
    from transformers.models.speecht5 import modeling_speecht5
    return randomize(modeling_speecht5.SpeechT5EncoderWithoutPrenet(transformers.SpeechT5Config(**{
        "hidden_size": C, "encoder_layers": L, "encoder_attention_heads": H, "encoder_ffn_dim": 16,
        "encoder_max_relative_position": 4, "hidden_dropout": 0, "attention_dropout": 0, "activation_dropout": 0,
        "encoder_layerdrop": 0} | more)))


def sew_d_encoder(**more):
    from transformers.models.sew_d import modeling_sew_d
    return randomize(modeling_sew_d.SEWDEncoder(transformers.SEWDConfig(**{
        "hidden_size": C, "num_hidden_layers": L, "num_attention_heads": H, "intermediate_size": 16,
        "squeeze_factor": 1, "max_position_embeddings": 12, "position_buckets": 4, "share_att_key": True,
        "relative_attention": True, "pos_att_type": ("p2c", "c2p"), "norm_rel_ebd": "layer_norm",
        "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2, "hidden_dropout": 0, "attention_dropout": 0,
        "activation_dropout": 0} | more)))
