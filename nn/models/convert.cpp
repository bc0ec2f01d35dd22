#include "shiftgrad/nn/models/convert.h"

#include <algorithm>
#include <cstdlib>

#include "shiftgrad/core/errors.h"
#include "shiftgrad/nn/models/load_weights.h"
#include "shiftgrad/ops/concat.h"
#include "shiftgrad/ops/matmul.h"
#include "shiftgrad/ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// An attention layer in the terms of Transformer-XL with learned distances. Terms that it does not
/// have are undefined. The tables end with the row of distance 0.
struct Terms {
  std::optional<int64_t> window{};
  Tensor content_bias{};          // u [H, D]
  Tensor position_embeddings{};   // E [n, H, D]
  Tensor position_scalar_bias{};  // s [n, H]
  Tensor qkv_bias{};              // [3·H·D]
};

Terms terms_of(const RelativeMultiHeadAttention& labml) {
  int64_t rows = labml.key_pos_bias.size(0) / 2 + 1;  // for the distances P … 0
  Tensor none = Tensor::zeros({2 * labml.value_bias.size(0)});
  return {.window = rows,
          .content_bias = labml.query_pos_bias,
          .position_embeddings = slice(labml.key_pos_embeddings, 0, 0, rows),
          .position_scalar_bias = slice(labml.key_pos_bias, 0, 0, rows),
          .qkv_bias = concat({none, labml.value_bias}, 0)};
}

Terms terms_of(const RelativeGlobalAttention& music) {
  const Tensor &E = music.past_embeddings, &s = music.past_bias;
  return {.window = music.window,
          .position_embeddings = transpose(E, 0, 1),
          .position_scalar_bias = s.defined() ? transpose(s, 0, 1) : s,
          .qkv_bias = music.qkv.bias};
}

Terms terms_of(const ShawAttention& shaw) {
  require(!shaw.value_distance_embeddings.defined(), "shaw_attention: value_positions true, but ",
          "transformer_xl_attention has no embeddings for values");
  int64_t rows = shaw.max_distance + 1, D = shaw.d_head;  // for the distances m … 0
  const Tensor& a = shaw.key_distance_embeddings;
  Tensor past = a.defined() ? slice(a, 0, 0, rows) : Tensor::zeros({rows, D});
  return {.position_embeddings = expand(unsqueeze(past, 1), {rows, shaw.n_head, D}),
          .qkv_bias = shaw.qkv.bias};
}

TransformerXLAttentionConfig config_of(const Attention& layer, const Terms& terms) {
  return {.d_model = layer.qkv.weight.size(1),
          .n_head = layer.n_head,
          .window = terms.window,
          .positions = DistancePositions::learned,
          .max_positions = terms.position_embeddings.size(0),
          .content_bias = terms.content_bias.defined(),
          .position_bias = terms.position_scalar_bias.defined(),
          .projection_bias = terms.qkv_bias.defined(),
          .attention_dropout = layer.attention_dropout};
}

/// Copies the values of a term into its parameter, unless there is no such term.
void copy(const Tensor& term, const Tensor& parameter) {
  if (!term.defined()) return;
  std::vector<Scalar> values = term.values();
  std::ranges::copy(values, parameter.mutable_data());
}

/// A layer and the config that describes it.
template <class Config>
struct Described {
  Config config;
  typename Config::Layer layer;
};

template <class Mixer>
Described<TransformerXLAttentionConfig> as_transformer_xl(const Mixer& layer) {
  require(layer.causal, layer.name, ": sees the future, but transformer_xl_attention with learned ",
          "positions sees the past alone");
  Terms terms = terms_of(layer);
  TransformerXLAttentionConfig config = config_of(layer, terms);
  Random random;
  TransformerXLAttention xl(config, random);
  copy(layer.qkv.weight, xl.qkv.weight);
  copy(terms.qkv_bias, xl.qkv.bias);
  copy(layer.output.weight, xl.output.weight);
  copy(layer.output.bias, xl.output.bias);
  copy(terms.content_bias, xl.content_bias);
  copy(terms.position_embeddings, xl.position_embeddings);
  copy(terms.position_scalar_bias, xl.position_scalar_bias);
  return {config, xl};
}

/// Returns the table w [max_len, max_len], which is 0 where a local form does not read it.
Tensor whole_table(const Aft& layer) {
  Tensor w = layer.position_bias.defined()
                 ? layer.position_bias
                 : matmul(layer.position_bias_query, transpose(layer.position_bias_key));
  if (layer.form == AftForm::full) return w;
  Tensor result = Tensor::zeros(w.shape());
  for (int64_t n = 0; n < w.count(); ++n)
    if (std::abs(n / layer.max_len - n % layer.max_len) < layer.window)
      result.mutable_data()[n] = w.data()[n];
  return result;
}

Described<AftConfig> as_full(const Aft& layer) {
  require(layer.form == AftForm::full || layer.form == AftForm::local, "aft: form ", layer.form,
          " reads texts of any length, form full those of max_len alone");
  AftConfig config{.d_model = layer.d_model,
                   .max_len = layer.max_len,
                   .causal = layer.causal,
                   .bias = layer.output.bias.defined()};
  Random random;
  Aft full(config, random);
  copy(layer.qkv.weight, full.qkv.weight);
  copy(layer.qkv.bias, full.qkv.bias);
  copy(layer.output.weight, full.output.weight);
  copy(layer.output.bias, full.output.bias);
  copy(whole_table(layer), full.position_bias);
  return {config, full};
}

Described<TransformerXLAttentionConfig> any_as_transformer_xl(const Layer& mixer) {
  if (auto* labml = dynamic_cast<const RelativeMultiHeadAttention*>(&mixer))
    return as_transformer_xl(*labml);
  if (auto* music = dynamic_cast<const RelativeGlobalAttention*>(&mixer))
    return as_transformer_xl(*music);
  if (auto* shaw = dynamic_cast<const ShawAttention*>(&mixer)) return as_transformer_xl(*shaw);
  fail("to_transformer_xl: ", mixer.name, ", expected relative_multi_head_attention, ",
       "relative_global_attention or shaw_attention");
}

Described<AftConfig> any_as_full(const Layer& mixer) {
  auto* aft = dynamic_cast<const Aft*>(&mixer);
  require(aft, "to_aft_full: ", mixer.name, ", expected aft");
  return as_full(*aft);
}

/// Returns the model with `convert(mixer)` in the place of each mixer.
template <class Convert>
LanguageModel with_mixers(const LanguageModel& model, const char* name, Convert convert) {
  LanguageModelConfig config = model.config;
  require(!config.own_mixer, name, ": a mixer of the program's own, expected one of the library's");
  require(config.block == BlockType::transformer_block, name, ": ", config.block,
          ", expected transformer_block");
  auto weights = state_dict(model);
  for (int64_t n = 0; n < config.n_layer; ++n) {
    const auto& block = dynamic_cast<const TransformerBlock&>(*model.blocks[n]);
    auto [mixer, layer] = convert(*block.mixer);
    config.mixer = mixer;
    std::string prefix = text("blocks.", n, ".mixer.");
    std::erase_if(weights, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    for (auto& [parameter, values] : state_dict(layer)) weights[prefix + parameter] = values;
  }
  return loaded_model(weights, name, [&](Random& random) { return LanguageModel(config, random); });
}

}  // namespace

TransformerXLAttention to_transformer_xl(const RelativeMultiHeadAttention& layer) {
  return as_transformer_xl(layer).layer;
}

TransformerXLAttention to_transformer_xl(const RelativeGlobalAttention& layer) {
  return as_transformer_xl(layer).layer;
}

TransformerXLAttention to_transformer_xl(const ShawAttention& layer) {
  return as_transformer_xl(layer).layer;
}

LanguageModel to_transformer_xl(const LanguageModel& model) {
  return with_mixers(model, "to_transformer_xl", any_as_transformer_xl);
}

Aft to_aft_full(const Aft& layer) { return as_full(layer).layer; }

LanguageModel to_aft_full(const LanguageModel& model) {
  return with_mixers(model, "to_aft_full", any_as_full);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
