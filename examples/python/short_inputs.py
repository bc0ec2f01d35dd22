#!/usr/bin/env python3
"""Finds how few scores an attention of transformers may have for sg.accelerate to gain something.

    short_inputs.py [--threads 1 2 …] [--seconds N] [--rule] [--scores LEAST MOST] [--batch 1 8] [--lengths 16 64 …]
                    [--only MODEL …]

Each line has the threads, an attention of a model's size, B, T, the scores B·H·T·K of a call, and the time of its own
code over that of the kernel, in inference and training: the least of many calls of both in turn, in floats. With one
thread it is the time that the thread computed, so that other work of the machine counts little; with more, the machine
has to be idle. The last lines say from how many scores on nothing was slower by more than 1 %. --rule leaves it to the
package which calls are the kernel's, instead: those from LEAST_SCORES in accelerated.py on, chosen so.
"""

import argparse
import copy
import itertools
import math
import time

import torch
import transformers
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.deberta import modeling_deberta as first_deberta
from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta
from transformers.models.gemma2 import modeling_gemma2 as gemma2
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss
from transformers.models.longt5 import modeling_longt5 as longt5
from transformers.models.mpnet import modeling_mpnet as mpnet
from transformers.models.mpt import modeling_mpt as mpt
from transformers.models.parakeet import modeling_parakeet as parakeet
from transformers.models.seamless_m4t import modeling_seamless_m4t as seamless
from transformers.models.sew_d import modeling_sew_d as sew_d
from transformers.models.speecht5 import modeling_speecht5 as speecht5
from transformers.models.switch_transformers import modeling_switch_transformers as switch
from transformers.models.t5 import modeling_t5 as t5
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert as wav2vec2_bert
from transformers.models.wavlm import modeling_wavlm as wavlm

import shiftgrad.torch as sg
from shiftgrad.torch import accelerated
from shiftgrad.torch.row import is_accelerated
from shiftgrad.torch.speech_models import SpeechT5Table


def shared(module, dense, table, x, heads):
    """What the layers before hand on to one: dense, and to the accelerated module a table."""
    is_own = not is_accelerated(module) or accelerated._is_short(heads * x.shape[0] * x.shape[1] ** 2)
    return dense if is_own else table


def by_distance(bias):
    """A bias [1, H, T, T] as a table [2T - 1, H], from the distance T - 1 down."""
    return torch.cat([bias[0, :, :, 0].flip(1), bias[0, :, 0, 1:]], 1).T.contiguous()


def of_t5(kind=t5.T5Attention, config=transformers.T5Config, **more):
    """A layer that gets the bias of the first one."""
    config = config(**{"d_model": 512, "d_kv": 64, "num_heads": 8} | more)
    module, first = kind(config, layer_idx=0), kind(config, True, layer_idx=0)

    def call(x):
        place = torch.arange(x.shape[1])
        mask = causal_mask(x) if config.is_decoder else torch.zeros(len(x), 1, 1, len(place))
        bias = first.compute_bias(len(place), len(place), cache_position=place).detach()
        table, dense = by_distance(bias), bias + mask
        return lambda module: module(x, mask=mask, cache_position=place, position_bias=shared(
            module, dense, table, x, config.num_heads))[0]
    return module, config.d_model, config.num_heads, call


def of_switch():
    return of_t5(switch.SwitchTransformersAttention, transformers.SwitchTransformersConfig, d_model=768, num_heads=12)


def of_longt5():
    return of_t5(longt5.LongT5Attention, transformers.LongT5Config, d_model=768, num_heads=12, is_decoder=True)


def of_parakeet():
    config = parakeet.ParakeetEncoderConfig(hidden_size=1024, num_attention_heads=8)
    config._attn_implementation = "sdpa"

    def call(x):
        rows = torch.randn(1, 2 * x.shape[1] - 1, 1024).expand(len(x), -1, -1)
        return lambda module: module(x, position_embeddings=rows, attention_mask=None)[0]
    return parakeet.ParakeetEncoderAttention(config, 0), 1024, 8, call


def of_deberta():
    config = transformers.DebertaV2Config(
        hidden_size=768, num_attention_heads=12, relative_attention=True, position_buckets=256, share_att_key=True,
        pos_att_type=["p2c", "c2p"])
    table = torch.randn(512, 768)

    def call(x):
        mask, positions = torch.ones(len(x), 1, *x.shape[1:2] * 2), deberta.build_relative_position(x, x, 256, 512)
        return lambda module: module(x, mask, relative_pos=positions, rel_embeddings=table)[0]
    return deberta.DisentangledSelfAttention(config), 768, 12, call


def of_w2v_bert():
    return wav2vec2_bert.Wav2Vec2BertSelfAttention(transformers.Wav2Vec2BertConfig()), 1024, 16, (
        lambda x: lambda module: module(x)[0])


def causal_mask(x):
    T = x.shape[1]
    return torch.full((T, T), torch.finfo(x.dtype).min).triu(1).expand(len(x), 1, T, T)


def of_decoder(module, rotary, width, heads):
    def call(x):
        turn, mask = rotary(x, torch.arange(x.shape[1])[None]), causal_mask(x)
        return lambda module: module(x, position_embeddings=turn, attention_mask=mask)[0]
    return module, width, heads, call


def of_gemma2():
    config = transformers.Gemma2Config(attn_implementation="eager")
    return of_decoder(gemma2.Gemma2Attention(config, 1), gemma2.Gemma2RotaryEmbedding(config), 2304, 8)


def of_gpt_oss():
    config = transformers.GptOssConfig(attn_implementation="eager")
    module = gpt_oss.GptOssAttention(config, 1)
    torch.nn.init.normal_(module.sinks)
    return of_decoder(module, gpt_oss.GptOssRotaryEmbedding(config), 2880, 64)


def of_bloom():
    def call(x):
        alibi, mask = bloom.build_alibi_tensor(torch.ones(x.shape[:2]), 16, x.dtype), causal_mask(x)
        return lambda module: module(x, x, alibi, mask)[0]
    return bloom.BloomAttention(transformers.BloomConfig(hidden_size=1024, n_head=16), 0), 1024, 16, call


def of_mpt():
    config = transformers.MptConfig(d_model=1024, n_heads=16)

    def call(x):
        T = x.shape[1]
        bias, mask = mpt.build_mpt_alibi_tensor(16, T), torch.ones(T, T, dtype=torch.bool).triu(1).expand(len(x), 1, T, T)
        return lambda module: module(x, bias, mask)[0]
    return mpt.MptBlock(config, 0), 1024, 16, call


def of_mpnet():
    """A layer that gets the bias of the encoder."""
    encoder = mpnet.MPNetEncoder(transformers.MPNetConfig(num_hidden_layers=1))

    def call(x):
        bias, mask = encoder.compute_position_bias(x).detach(), torch.zeros(len(x), 1, 1, x.shape[1])
        table = by_distance(bias)
        return lambda module: module(x, mask, position_bias=shared(module, bias, table, x, 12))[0]
    return encoder.layer[0].attention.attn, 768, 12, call


def of_first_deberta():
    config = transformers.DebertaConfig(
        hidden_size=768, num_attention_heads=12, relative_attention=True, max_relative_positions=512,
        pos_att_type=["c2p", "p2c"])
    table = torch.randn(1024, 768)

    def call(x):
        mask, positions = torch.ones(len(x), 1, *x.shape[1:2] * 2), first_deberta.build_relative_position(x, x)
        return lambda module: module(x, mask, relative_pos=positions, rel_embeddings=table)[0]
    return first_deberta.DisentangledSelfAttention(config), 768, 12, call


def of_sew_d():
    config = transformers.SEWDConfig()
    table = torch.randn(512, 768)

    def call(x):
        T = x.shape[1]
        mask, positions = torch.ones(len(x), 1, T, T), sew_d.build_relative_position(T, T, 256, 512)
        return lambda module: module(x, mask, relative_pos=positions, rel_embeddings=table)
    return sew_d.DisentangledSelfAttention(config), 768, 12, call


def of_local_longt5():
    """A layer of the encoder that gets the bias of the first one."""
    config = transformers.LongT5Config(d_model=768, num_heads=12)
    module, first = (longt5.LongT5LocalAttention(config, has_bias) for has_bias in (False, True))

    def call(x):
        (B, T, _), n = x.shape, module.block_len
        mask = longt5._get_local_attention_mask(torch.ones(B, T), n, x.device)
        ahead = torch.arange(1 - T, T)
        table = first.relative_attention_bias(first._relative_position_bucket(ahead, True, 32, 128)).detach()
        dense = (first.compute_bias(n) + torch.where(mask > 0, 0.0, -1e10).transpose(1, 2)).detach()
        return lambda module: module(x, mask, shared(module, dense, table, x, 12))[0]
    return module, 768, 12, call


def of_seamless():
    def call(x):
        rows = torch.randn(1, 2 * x.shape[1] - 1, 1024).expand(len(x), -1, -1)
        return lambda module: module(x, relative_position_embeddings=rows)[0]
    return seamless.SeamlessM4TConformerSelfAttention(transformers.SeamlessM4TConfig()), 1024, 16, call


def of_wavlm():
    """A layer that gets the bias of the first one, with a mask of padding: without one, inference is its own."""
    module, first = wavlm.WavLMAttention(768, 12, has_relative_position_bias=False), wavlm.WavLMAttention(768, 12)

    def call(x):
        B, T, _ = x.shape
        bias = first.compute_bias(T, T).detach()[None]
        dense, table = bias.repeat(B, 1, 1, 1).flatten(0, 1), by_distance(bias)
        mask = torch.ones(B, T, dtype=torch.bool)
        return lambda module: module(x, mask, shared(module, dense, table, x, 12))[0]
    return module, 768, 12, call


def of_speecht5():
    """A layer that gets the keys of the encoder."""
    encoding = speecht5.SpeechT5RelativePositionalEncoding(64, 160)

    def call(x):
        dense, table = encoding(x).detach(), SpeechT5Table(encoding)(x).detach()
        return lambda module: module(x, position_bias=shared(module, dense, table, x, 12))[0]
    return speecht5.SpeechT5Attention(768, 12), 768, 12, call


def ratio(theirs, ours, step, clock, seconds):
    """The least time of one over that of the other, of calls in turn."""
    best, used, runs = [math.inf, math.inf], 0, 0
    while used < seconds or runs < 10:
        for n, module in enumerate((theirs, ours)):
            begin = clock()
            step(module)
            taken = clock() - begin
            best[n], used = min(best[n], taken), used + taken
        runs += 1
    return best[0] / best[1]


def least_scores(found, bound=0.99):
    """The least scores from which on no ratio is below the bound, of a list of (scores, ratios)."""
    slower = max((scores for scores, ratios in found if min(ratios) < bound), default=0)
    return min((scores for scores, _ in found if scores > slower), default=None)


modules = {
    "T5-small": of_t5, "Parakeet": of_parakeet, "DeBERTa-v3-base": of_deberta, "w2v-BERT 2.0": of_w2v_bert,
    "Gemma-2-2b": of_gemma2, "gpt-oss-20b": of_gpt_oss, "Bloom-560m": of_bloom, "MPT of 1024 channels": of_mpt,
    "MPNet-base": of_mpnet, "Switch-base-8": of_switch, "LongT5-base's decoder": of_longt5,
    "LongT5-base's local encoder": of_local_longt5,
    "DeBERTa-base": of_first_deberta, "SeamlessM4T-medium": of_seamless, "WavLM-base": of_wavlm,
    "SpeechT5's encoder": of_speecht5, "SEW-D-base": of_sew_d,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--seconds", type=float, default=0.5, help="of computation for each ratio")
    parser.add_argument("--rule", action="store_true", help="leave short calls to the module's own code")
    parser.add_argument("--scores", type=int, nargs=2, default=[0, 2**20], help="of the calls to measure")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--lengths", type=int, nargs="+", default=[1, 16, 32, 64, 96, 128, 192, 256, 384])
    parser.add_argument("--only", nargs="+", choices=modules, help="attentions of these models")
    options = parser.parse_args()
    if not options.rule:
        accelerated.LEAST_SCORES = 0
    print("threads, attention, B, T: scores, inference, training", flush=True)
    for threads in options.threads:
        torch.set_num_threads(threads)
        clock, found = time.thread_time if threads == 1 else time.perf_counter, []
        for name in options.only or modules:
            make = modules[name]
            theirs, width, heads, calls = make()
            theirs.eval()
            ours = copy.deepcopy(theirs)
            sg.accelerate(ours)
            for B, T in itertools.product(options.batch, options.lengths):
                scores = B * heads * T * T
                if not options.scores[0] <= scores <= options.scores[1]:
                    continue
                x, ratios = torch.randn(B, T, width), []
                for trains in (False, True):
                    call = calls(x.requires_grad_(trains))
                    with torch.set_grad_enabled(trains):
                        step = (lambda module: call(module).sum().backward()) if trains else call
                        ratios.append(ratio(theirs, ours, step, clock, options.seconds))
                found.append((scores, ratios))
                print(f"{threads}, {name}, {B}, {T}: {scores}, {ratios[0]:.3f}, {ratios[1]:.3f}", flush=True)
        print(f"{threads} threads: nothing is slower by more than 1 % from {least_scores(found)} scores on", flush=True)


if __name__ == "__main__":
    main()
