#pragma once

// The list of configured language models over which their tests run.

#include "nn/models/config.h"
#include "tests/support/layer_rows.h"
#include "tests/support/oracles/language_model.h"
#include "tests/support/small_mixers.h"

namespace shiftgrad::test {

struct ModelRow {
  std::string json;
  LanguageModelConfig config;
  bool takes_memory = true;

  explicit ModelRow(const std::string& options, bool memory = true)
      : json(R"({"vocab_size": 7, "d_model": 4, "n_layer": 2, "n_head": 2, "d_inner": 5, )" +
             options + "}"),
        config(config_from_json<LanguageModelConfig>(json)),
        takes_memory(memory) {}

  /// The model with this mixer.
  explicit ModelRow(const MixerConfig& mixer)
      : ModelRow(R"("activation": "gelu", "mixer": {"type": "multi_head_attention"})") {
    config.mixer = mixer;
    json = config_to_json(config);
  }

  /// The model with random parameters.
  LanguageModel make(RandomValues& random) const {
    Random start;
    LanguageModel model(config, start);
    randomize(model, random);
    return model;
  }
};

/// The Transformer-XL of its paper.
inline ModelRow paper_transformer_xl() {
  return ModelRow(
      R"("mixer": {"type": "transformer_xl_attention"}, "norm_first": false, "final_norm": false,
         "tie_embedding": true, "embedding_scale": true, "tie_position_biases": true)");
}

/// Every mixer, with its options and as models usually have it, and every option of the model.
inline std::vector<ModelRow> model_rows() {
  auto mixer = [](const std::string& fields, const std::string& more = "") {
    return ModelRow(R"("activation": "gelu", "mixer": {"type": )" + fields + "}" +
                    (more.empty() ? "" : ", " + more));
  };
  std::vector<ModelRow> rows = {
      paper_transformer_xl(),
      mixer(R"("transformer_xl_attention", "d_head": 3)", R"("tie_position_biases": true)"),
      mixer(R"("transformer_xl_attention", "positions": "learned", "max_positions": 20)",
            R"("norm_first": false)"),
      mixer(R"("multi_head_attention")", R"("position": "learned", "max_len": 20)"),
      mixer(R"("multi_head_attention")",
            R"("position": "learned", "max_len": 20, "layer_positions": true)"),
      mixer(R"("multi_head_attention", "bias": false)",
            R"("position": "sinusoid", "embedding_scale": true, "final_norm": false)"),
      mixer(R"("multi_head_attention", "position": "rope", "window": 5)",
            R"("tie_embedding": true)"),
      mixer(R"("multi_head_attention", "position": "alibi")"),
      mixer(R"("relative_global_attention", "max_seq": 6)", R"("embedding_scale": true)"),
      mixer(R"("aft", "max_len": 20)"),
      mixer(R"("aft", "form": "local", "max_len": 20, "window": 3, "factor_rank": 2)"),
      mixer(R"("aft", "form": "simple")", R"("position": "sinusoid")"),
      mixer(R"("aft", "form": "conv", "window": 3)"),
      ModelRow(R"("block": "r_transformer_block", "window": 3, "cell": "rnn")", false),
      ModelRow(
          R"("block": "r_transformer_block", "window": 2, "cell": "lstm", "position": "learned",
                  "max_len": 20, "tie_embedding": true)",
          false),
  };
  for (const MixerConfig& usual : small_mixers(20)) rows.emplace_back(usual);
  return rows;
}

/// Tokens [B, T] of a vocabulary.
inline Tokens random_tokens(int64_t B, int64_t T, int64_t vocabulary, uint64_t seed) {
  std::mt19937_64 engine(seed);
  Tokens tokens{{B, T}, {}};
  for (int64_t n = 0; n < B * T; ++n)
    tokens.values.push_back(static_cast<int32_t>(engine() % static_cast<uint64_t>(vocabulary)));
  return tokens;
}

/// The tokens begin … end-1 of each batch member.
inline Tokens part(const Tokens& tokens, int64_t begin, int64_t end) {
  int64_t B = tokens.shape[0], T = tokens.shape[1];
  Tokens result{{B, end - begin}, {}};
  for (int64_t b = 0; b < B; ++b)
    result.values.insert(result.values.end(), tokens.values.begin() + b * T + begin,
                         tokens.values.begin() + b * T + end);
  return result;
}

}  // namespace shiftgrad::test
