#include "attention_maps.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/tape.h"
#include "examples/apps/draw/finite.h"
#include "nn/layer.h"

namespace char_lm {

using shiftgrad::Tensor;

namespace {

using Maps = std::vector<AttentionMap>;

/// Returns a map for each head of weights [1, H, T, T].
Maps maps_of_heads(const Tensor& weights) {
  std::vector<shiftgrad::Scalar> values = weights.values();
  int64_t size = weights.size(2) * weights.size(3);
  Maps maps;
  for (int64_t h = 0; h < weights.size(1); ++h) {
    auto first = values.begin() + h * size;
    maps.push_back({shiftgrad::text("head ", h), {first, first + size}});
  }
  return maps;
}

/// Returns the mean map of each of `heads` equal groups of channels of weights [1, T, T, C].
Maps maps_of_channels(const Tensor& weights, int64_t heads) {
  std::vector<shiftgrad::Scalar> values = weights.values();
  int64_t size = weights.size(1) * weights.size(2), C = weights.size(3), D = C / heads;
  Maps maps;
  for (int64_t h = 0; h < heads; ++h) {
    bool alone = heads == 1;
    std::string title =
        alone ? shiftgrad::text("mean of ", C, " channels") : shiftgrad::text("head ", h);
    std::vector<double> map(size);
    for (int64_t n = 0; n < size; ++n)
      for (int64_t c = h * D; c < (h + 1) * D; ++c)
        map[n] += static_cast<double>(values[n * C + c]) / static_cast<double>(D);
    maps.push_back({title, map});
  }
  return maps;
}

AttentionMap mean_of(const Maps& maps) {
  AttentionMap mean{.title = {}, .weights = std::vector<double>(maps.front().weights.size())};
  for (const AttentionMap& map : maps)
    for (size_t n = 0; n < map.weights.size(); ++n)
      mean.weights[n] += map.weights[n] / static_cast<double>(maps.size());
  return mean;
}

}  // namespace

Weighing weighing_of(const shiftgrad::LanguageModel& model) {
  shiftgrad::Context context;
  Tensor x = Tensor::zeros({1, 1, model.config.d_model});
  for (const auto& [name, layer] : shiftgrad::layers(model)) {
    shiftgrad::LayerTerms terms = layer.terms(x, {}, context);
    if (auto* attention = std::get_if<shiftgrad::RelativeAttention>(&terms))
      return {.heads = attention->query.size(1), .factor = attention->factor.value()};
    if (auto* aft = std::get_if<shiftgrad::AftTerms>(&terms))
      return {.heads = aft->band.bias.size(0), .by_channel = true};
  }
  return {};
}

std::vector<Maps> attention_maps(const shiftgrad::LanguageModel& model,
                                 const std::vector<int32_t>& text) {
  shiftgrad::Tape::Pause constant;
  Weighing weighing = weighing_of(model);
  std::vector<Maps> layers;
  shiftgrad::Context context;
  context.recorder = [&](const Tensor& weights) {
    layers.push_back(weighing.by_channel ? maps_of_channels(weights, weighing.heads)
                                         : maps_of_heads(weights));
  };
  model({{1, std::ssize(text)}, text}, shiftgrad::Memory{}, context);
  for (const Maps& maps : layers)
    for (const AttentionMap& map : maps)
      for (double weight : map.weights) apps::finite(weight, "an attention weight");
  return layers;
}

std::optional<apps::TokenWeights> last_row_of_heads(const shiftgrad::LanguageModel& model,
                                                    const shiftgrad::KeptText& text,
                                                    const shiftgrad::Vocabulary& vocabulary) {
  constexpr int64_t most = 32;
  constexpr size_t most_rows = 16;
  int64_t T = std::min({most, text.size(), model.limits().keys});
  std::vector<int32_t> read = text.part(0, T).tokens();
  std::vector<Maps> layers = attention_maps(model, read);
  if (layers.empty()) return std::nullopt;
  apps::TokenWeights last{
      .title = {}, .row_title = "layer", .rows = {}, .tokens = {}, .values = {}};
  for (int32_t token : read) last.tokens.push_back(vocabulary.decode(token));
  last.title = shiftgrad::text("what “", last.tokens.back(), "” attends to");
  size_t heads_of_layer = layers.front().size();
  bool by_head = heads_of_layer > 1 && layers.size() * heads_of_layer <= most_rows;
  if (by_head) last.row_title = "head";
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const Maps maps = by_head ? layers[layer] : Maps{mean_of(layers[layer])};
    for (size_t head = 0; head < maps.size(); ++head) {
      std::span row = std::span(maps[head].weights).last(static_cast<size_t>(T));
      last.rows.push_back(by_head ? shiftgrad::text(layer, ".", head) : shiftgrad::text(layer));
      last.values.insert(last.values.end(), row.begin(), row.end());
    }
  }
  return last;
}

void hide_later_keys(std::vector<Maps>& layers, int64_t characters) {
  for (Maps& maps : layers)
    for (AttentionMap& map : maps)
      for (int64_t query = 0; query < characters; ++query)
        for (int64_t key = query + 1; key < characters; ++key)
          map.weights[static_cast<size_t>(query * characters + key)] = std::nan("");
}

}  // namespace char_lm
