#pragma once

// The list of configured encoder-decoders over which their tests run.

#include "nn/models/config.h"
#include "tests/support/layer_rows.h"
#include "tests/support/oracles/encoder_decoder.h"
#include "tests/support/small_mixers.h"

namespace shiftgrad::test {

struct TranslatorRow {
  std::string json;
  EncoderDecoderConfig config;

  TranslatorRow(const std::string& encoder, const std::string& decoder,
                const std::string& more = "")
      : json(R"({"source_vocab_size": 6, "target_vocab_size": 6, "d_model": 4,
                 "n_encoder_layer": 2, "n_decoder_layer": 2, "n_head": 2, "d_inner": 5,
                 "encoder_mixer": {"type": )" +
             encoder + R"(}, "decoder_mixer": {"type": )" + decoder + "}" +
             (more.empty() ? R"(, "activation": "gelu")" : ", " + more) + "}"),
        config(config_from_json<EncoderDecoderConfig>(json)) {}

  /// The model with this mixer in its decoder, and in its encoder, too, if it sees both ways.
  explicit TranslatorRow(const MixerConfig& mixer)
      : TranslatorRow(R"("multi_head_attention")", R"("multi_head_attention")") {
    if (sees_both_ways(mixer)) config.encoder_mixer = mixer;
    config.decoder_mixer = mixer;
    json = config_to_json(config);
  }

  /// The model with random parameters.
  EncoderDecoder make(RandomValues& random) const {
    Random start;
    EncoderDecoder model(config, start);
    randomize(model, random);
    return model;
  }
};

/// The Transformer of its paper.
inline TranslatorRow paper_transformer() {
  return {R"("multi_head_attention")", R"("multi_head_attention")",
          R"("encoder_position": "sinusoid", "decoder_position": "sinusoid", "norm_first": false,
             "final_norm": false, "share_embedding": true, "tie_embedding": true,
             "embedding_scale": true)"};
}

/// Every mixer on every side where it can stand, and every option.
inline std::vector<TranslatorRow> translator_rows() {
  std::vector<TranslatorRow> rows = {
      paper_transformer(),
      {R"("multi_head_attention", "position": "rope", "bias": false)",
       R"("multi_head_attention", "position": "alibi", "window": 3)",
       R"("tie_embedding": true, "activation": "gelu_tanh")"},
      {R"("relative_global_attention", "max_seq": 4)", R"("transformer_xl_attention")",
       R"("share_embedding": true, "activation": "gelu")"},
      {R"("relative_multi_head_attention", "max_positions": 12)",
       R"("relative_multi_head_attention", "max_positions": 12)",
       R"("norm_first": false, "activation": "gelu")"},
      {R"("transformer_xl_attention", "clamp_len": 3)",
       R"("transformer_xl_attention", "positions": "learned", "max_positions": 2)",
       R"("activation": "gelu")"},
      {R"("aft", "max_len": 12)", R"("relative_global_attention", "max_seq": 5)"},
      {R"("aft", "form": "local", "max_len": 12, "window": 2)",
       R"("aft", "form": "local", "max_len": 12, "window": 3, "factor_rank": 2)"},
      {R"("aft", "form": "simple")", R"("aft", "form": "simple", "bias": false)",
       R"("encoder_position": "learned", "encoder_max_len": 12, "decoder_position": "learned",
          "decoder_max_len": 12, "embedding_scale": true, "activation": "gelu")"},
      {R"("aft", "form": "conv", "window": 3)", R"("local_rnn", "window": 3, "cell": "gru")"},
      {R"("multi_head_attention", "window": 3)", R"("aft", "form": "conv", "window": 2)",
       R"("final_norm": false, "activation": "gelu")"},
  };
  for (const MixerConfig& usual : small_mixers(12)) rows.emplace_back(usual);
  return rows;
}

/// `count` sequences of a vocabulary, the first of `longest` tokens, the others of 1 to as many.
inline std::vector<std::vector<int32_t>> random_sequences(int64_t count, int64_t longest,
                                                          int64_t vocabulary, uint64_t seed) {
  std::mt19937_64 engine(seed);
  auto below = [&](int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); };
  std::vector<std::vector<int32_t>> sequences(static_cast<size_t>(count));
  for (auto& sequence : sequences) {
    sequence.resize(static_cast<size_t>(&sequence == &sequences[0] ? longest : 1 + below(longest)));
    for (int32_t& token : sequence) token = static_cast<int32_t>(below(vocabulary));
  }
  return sequences;
}

}  // namespace shiftgrad::test
