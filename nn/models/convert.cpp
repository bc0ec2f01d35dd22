#include "nn/models/convert.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.h"
#include "nn/layer.h"
#include "nn/positions.h"
#include "nn/state_dict.h"
#include "ops/arithmetic.h"
#include "ops/concat.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the layer of that config. Its parameters are the terms of their names, or else those of
/// `source`.
template <class Config>
typename Config::Layer layer_with_terms(const Layer& source, const Config& config, Width width,
                                        std::map<std::string, Tensor> terms) {
  ParameterBudget budget;
  typename Config::Layer layer(config, width, budget);
  for (const Parameter& parameter : parameters(source))
    terms.emplace(parameter.name, parameter.value);
  for (const Parameter& parameter : parameters(layer)) {
    const Tensor& term = terms[parameter.name];
    require(term.defined() && term.shape() == parameter.value.shape(), source.name, ": has no ",
            parameter.name, ' ', parameter.value.shape());
    std::ranges::copy(term.values(), parameter.value.mutable_data());
  }
  return layer;
}

Tensor random_tensor(const Dims& shape) {
  Random random;
  return normal_parameter(shape, random, 1).detach();
}

/// Returns the layer's terms over T random queries, keys and values.
RelativeAttention terms_of(const Attention& layer, int64_t T) {
  std::vector<Tensor> heads = split(random_tensor({3, layer.n_head, T, layer.d_head}), 1, 0);
  Context context;
  return layer.terms_of({heads[0], heads[1], heads[2]}, context);
}

/// Throws unless a layer and what it is converted to compute the same values. They do not where
/// positions turn the heads, for example.
void check_equal(const Layer& layer, const Tensor& values, const Tensor& converted) {
  double largest = 0;
  for (Scalar error : (converted - values).values())
    largest = std::max(largest, std::abs(static_cast<double>(error)));
  require(largest <= 1e-3, layer.name, ": computes more than its terms by distance say");
}

/// Returns the number of distances, from 0 on, that have terms of their own.
int64_t distances_of(const Attention& layer) {
  RelativeAttention terms = terms_of(layer, 1);
  const Tensor& a = terms.clipped_keys;
  if (!terms.position_rows.defined() && !terms.position_scores.defined())
    return std::min(layer.attention_span(), a.defined() ? a.size(0) / 2 : 0) + 1;
  require(layer.attention_span() < unlimited, layer.name,
          ": has terms for any distance, expected a window");
  return layer.attention_span() + 1;
}

/// Returns E_δ [R, H, D] for the distances R - 1 … 0.
Tensor embeddings(const RelativeAttention& terms, int64_t R) {
  const Tensor &r = terms.position_rows, &a = terms.clipped_keys;
  int64_t H = terms.query.size(1), D = terms.query.size(3);
  Tensor E = r.defined() ? slice(r, 0, 0, R) : Tensor::zeros({1, 1, D});
  if (a.defined()) E = E + last_rows(slice(a, 0, 0, a.size(0) / 2 + 1), R);
  return expand(E, {R, H, D});
}

/// Returns the biases [3·H·D] of q, k and v, with the row that all values share.
Tensor projection_bias(const Attention& layer, const Tensor& row) {
  if (!row.defined()) return layer.qkv.bias;
  require(row.size(0) == 1, layer.name, ": has embeddings of distances for values, but ",
          "transformer_xl_attention has none");
  int64_t H = layer.n_head, D = layer.d_head;
  Tensor of_values = reshape(expand(row, {1, H, D}), {H * D});
  Tensor bias = concat({Tensor::zeros({2 * H * D}), of_values}, 0);
  return layer.qkv.bias.defined() ? layer.qkv.bias + bias : bias;
}

Aft as_full(const Layer& layer, int64_t C) {
  int64_t L = layer.limits().length;
  Context context;
  LayerTerms terms = layer.terms(random_tensor({1, L < unlimited ? L : 1, C}), {}, context);
  auto* aft = std::get_if<AftTerms>(&terms);
  require(aft, "to_aft_full: ", layer.name, ", expected aft");
  require(L < unlimited, layer.name,
          ": reads texts of any length, form full those of max_len alone");
  AftConfig config{.max_len = L,
                   .causal = aft->visibility.sight.causal,
                   .bias = state_view(layer).contains("output.bias")};
  Tensor w = widened(aft->band, L).bias;  // [G, L, L]
  if (w.size(0) == 1) w = select(w, 0, 0);
  auto full = layer_with_terms(layer, config, {.d_model = C}, {{"position_bias", w}});
  Tensor x = random_tensor({1, std::min<int64_t>(L, 16), C});
  check_equal(layer, layer(x), full(x));
  return full;
}

/// Returns the model with `convert(mixer)` in the place of each mixer.
LanguageModel with_mixers(const LanguageModel& model, const char* name, auto convert) {
  LanguageModelConfig config = model.config;
  require(config.block == BlockType::transformer_block, name, ": ", config.block,
          ", expected transformer_block");
  config.own_mixer = config.tie_position_biases = false;
  auto weights = state_dict(model);
  weights.erase("content_bias");
  weights.erase("position_bias");
  for (size_t n = 0; n < model.blocks.layers.size(); ++n) {
    std::string prefix = text("blocks.", n, ".mixer.");
    auto layer = convert(*model.blocks.layers[n]->parts.front().function);
    config.mixer = layer.config;
    std::erase_if(weights, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    for (auto& [parameter, values] : state_dict(layer)) weights[prefix + parameter] = values;
  }
  return loaded_model(weights, name, [&](Init init) { return LanguageModel(config, init); });
}

}  // namespace

TransformerXLAttention to_transformer_xl(const Attention& layer) {
  require(layer.causal, layer.name, ": sees the future, but transformer_xl_attention with learned ",
          "positions sees the past alone");
  int64_t R = distances_of(layer), H = layer.n_head, C = layer.qkv.weight.size(1);
  RelativeAttention terms = terms_of(layer, R);
  Tensor E = embeddings(terms, R), bias = projection_bias(layer, terms.clipped_values);
  Tensor s = terms.position_scores.defined() ? slice(terms.position_scores, 0, 0, R) : Tensor();
  if (const Tensor& v = terms.position_bias; v.defined()) {
    Tensor of_embeddings = sum(E * v, {2});  // v·E_δ  [R, H]
    s = s.defined() ? s + of_embeddings : of_embeddings;
  }
  require(bias.defined() == layer.output.bias.defined(), layer.name, ": has biases in one of its ",
          "projections, but transformer_xl_attention in both");
  TransformerXLAttentionConfig config{.positions = DistancePositions::learned,
                                      .max_positions = R,
                                      .content_bias = terms.content_bias.defined(),
                                      .position_bias = s.defined(),
                                      .bias = bias.defined(),
                                      .attention_dropout = layer.attention_dropout};
  if (layer.d_head * H != C) config.d_head = layer.d_head;
  config.sight = layer;
  if (layer.attention_span() < unlimited) config.sight.window = layer.attention_span() + 1;
  auto xl = layer_with_terms(layer, config, {C, H},
                             {{"content_bias", terms.content_bias},
                              {"position_embeddings", E},
                              {"position_scalar_bias", s},
                              {"qkv.bias", bias}});
  int64_t T = std::min<int64_t>(layer.limits().keys, 16);
  check_equal(layer, attention_probabilities(terms_of(layer, T)),
              attention_probabilities(terms_of(xl, T)));
  return xl;
}

LanguageModel to_transformer_xl(const LanguageModel& model) {
  return with_mixers(model, "to_transformer_xl", [](const Layer& mixer) {
    auto* attention = dynamic_cast<const Attention*>(&mixer);
    require(attention, "to_transformer_xl: ", mixer.name, ", expected attention");
    return to_transformer_xl(*attention);
  });
}

Aft to_aft_full(const Aft& layer) { return as_full(layer, layer.width.d_model); }

LanguageModel to_aft_full(const LanguageModel& model) {
  return with_mixers(model, "to_aft_full",
                     [&](const Layer& mixer) { return as_full(mixer, model.config.d_model); });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
