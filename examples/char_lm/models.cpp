#include "models.h"

#include "core/errors.h"

namespace char_lm {

using shiftgrad::fail;
using shiftgrad::LanguageModelConfig;
using shiftgrad::require;

namespace {

/// Al-Rfou et al. 2018, "Character-Level Language Modeling with Deeper Self-Attention", without the
/// auxiliary losses; the block is GPT-2's.
LanguageModelConfig transformer(const ModelFlags& flags) {
  LanguageModelConfig config;
  config.mixer = shiftgrad::MultiHeadAttentionConfig{};
  config.position = "learned";
  config.max_len = flags.block_size;
  config.activation = "gelu";
  config.tie_embedding = true;
  return config;
}

/// Dai et al. 2019, "Transformer-XL", with the norms before the layers.
LanguageModelConfig transformer_xl(const ModelFlags&) {
  LanguageModelConfig config;
  config.mixer = shiftgrad::TransformerXLAttentionConfig{};
  config.activation = "gelu";
  config.tie_embedding = true;
  return config;
}

void check(const ModelFlags& flags) {
  auto at_least_1 = [](const char* name, int64_t value) {
    require(value >= 1, "--", name, " ", value, ", expected at least 1");
  };
  at_least_1("n_layer", flags.n_layer);
  at_least_1("n_head", flags.n_head);
  at_least_1("n_embd", flags.n_embd);
  at_least_1("block_size", flags.block_size);
  require(flags.n_embd % flags.n_head == 0, "--n_embd ", flags.n_embd,
          " is not divisible by --n_head ", flags.n_head);
  require(0 <= flags.dropout && flags.dropout < 1, "--dropout ", flags.dropout,
          ", expected 0 to less than 1");
}

}  // namespace

const std::vector<ModelKind>& model_kinds() {
  static const std::vector<ModelKind> kinds = {
      {"transformer", "learned absolute positions, no memory", false, transformer},
      {"transformer_xl", "relative positions, memory of earlier blocks", true, transformer_xl},
  };
  return kinds;
}

const ModelKind& model_kind(const std::string& name) {
  std::string known;
  for (const ModelKind& kind : model_kinds()) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : ", ") + kind.name;
  }
  fail("--model ", name, ", expected one of ", known);
}

LanguageModelConfig model_config(const ModelFlags& flags, int64_t vocab_size) {
  const ModelKind& kind = model_kind(flags.model);
  check(flags);
  LanguageModelConfig config = kind.config(flags);
  config.vocab_size = vocab_size;
  config.d_model = flags.n_embd;
  config.n_layer = flags.n_layer;
  config.n_head = flags.n_head;
  config.d_inner = 4 * flags.n_embd;
  config.dropout = flags.dropout;
  config.attention_dropout = flags.dropout;
  return config;
}

}  // namespace char_lm
