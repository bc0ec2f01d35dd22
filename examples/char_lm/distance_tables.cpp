#include "distance_tables.h"

#include <algorithm>
#include <cmath>

#include "shiftgrad/core/tape.h"
#include "shiftgrad/nn/models/mixers.h"
#include "shiftgrad/nn/models/transformer_block.h"
#include "shiftgrad/nn/positions.h"

namespace char_lm {

using shiftgrad::Aft;
using shiftgrad::AftBand;
using shiftgrad::RelativeGlobalAttention;
using shiftgrad::RelativeMultiHeadAttention;
using shiftgrad::ShawAttention;
using shiftgrad::Tensor;
using shiftgrad::TransformerXLAttention;

namespace {

using Tables = std::vector<DistanceTable>;

/// The distances from first to last.
struct Distances {
  int64_t first, last;
};

/// Returns value(h, δ) for all heads and distances.
template <class Value>
DistanceTable table(const std::string& title, int64_t heads, Distances range, Value value) {
  DistanceTable result{title, range.first, {}};
  for (int64_t h = 0; h < heads; ++h) {
    result.heads.emplace_back();
    for (int64_t delta = range.first; delta <= range.last; ++delta)
      result.heads.back().push_back(value(h, delta));
  }
  return result;
}

std::vector<double> doubles(const Tensor& tensor) {
  std::vector<shiftgrad::Scalar> values = tensor.values();
  return {values.begin(), values.end()};
}

double dot(const double* a, const double* b, int64_t size) {
  double sum = 0;
  for (int64_t n = 0; n < size; ++n) sum += a[n] * b[n];
  return sum;
}

double norm(const double* vector, int64_t size) { return std::sqrt(dot(vector, vector, size)); }

/// A learned table whose entry for (h, δ) has the index row(h, δ).
template <class Row>
struct Rows {
  int64_t heads;
  Distances range;
  Row row;

  /// Returns the norms of entries that are vectors of D numbers.
  DistanceTable norms(const std::string& title, const Tensor& vectors) const {
    std::vector<double> values = doubles(vectors);
    int64_t D = vectors.size(-1);
    return table(title, heads, range,
                 [&](int64_t h, int64_t delta) { return norm(&values[row(h, delta) * D], D); });
  }
  /// Returns entries that are numbers, multiplied by the factor.
  DistanceTable biases(const std::string& title, const Tensor& numbers, double factor) const {
    std::vector<double> values = doubles(numbers);
    return table(title, heads, range,
                 [&](int64_t h, int64_t delta) { return values[row(h, delta)] * factor; });
  }
};
template <class Row>
Rows(int64_t, Distances, Row) -> Rows<Row>;

double score_factor(const shiftgrad::Attention& layer) {
  return 1 / std::sqrt(static_cast<double>(layer.d_head));
}

/// Returns tables of r_δ = W_r R_δ, and of the term v·r_δ, which depends on the distance alone, if
/// the layer has it.
Tables sinusoid_tables(const TransformerXLAttention& layer, int64_t distances) {
  std::vector<int64_t> clamped;
  for (int64_t delta = 0; delta < distances; ++delta)
    clamped.push_back(layer.clamp_len > 0 ? std::min(delta, layer.clamp_len) : delta);
  Tensor R = shiftgrad::sinusoids("positions", clamped, layer.position.weight.size(1));
  std::vector<double> r = doubles(layer.position(R));  // [distances, H·D]
  int64_t H = layer.n_head, D = layer.d_head;
  Distances range{0, distances - 1};
  auto vector = [&](int64_t h, int64_t delta) { return &r[(delta * H + h) * D]; };
  auto length = [&](int64_t h, int64_t delta) { return norm(vector(h, delta), D); };
  Tables tables = {table("norm of r", H, range, length)};
  if (!layer.position_bias.defined()) return tables;
  std::vector<double> v = doubles(layer.position_bias);
  auto bias = [&](int64_t h, int64_t delta) {
    return dot(&v[h * D], vector(h, delta), D) * score_factor(layer);
  };
  tables.insert(tables.begin(), table("bias v·r / √D", H, range, bias));
  return tables;
}

Tables tables_of(const TransformerXLAttention& layer, int64_t distances) {
  if (!layer.position_embeddings.defined()) return sinusoid_tables(layer, distances);
  int64_t P = layer.position_embeddings.size(0), H = layer.n_head;
  Rows rows{H, {0, P - 1}, [=](int64_t h, int64_t delta) { return (P - 1 - delta) * H + h; }};
  Tables tables;
  if (layer.position_scalar_bias.defined())
    tables.push_back(rows.biases("bias s / √D", layer.position_scalar_bias, score_factor(layer)));
  tables.push_back(rows.norms("norm of E", layer.position_embeddings));
  return tables;
}

Tables tables_of(const RelativeMultiHeadAttention& layer) {
  int64_t P = layer.key_pos_bias.size(0) / 2, H = layer.n_head;
  Rows rows{H, {layer.causal ? 0 : 1 - P, P}, [=](int64_t h, int64_t delta) {
              return (P - delta) * H + h;
            }};
  return {rows.biases("bias S / √D", layer.key_pos_bias, score_factor(layer)),
          rows.norms("norm of R", layer.key_pos_embeddings)};
}

/// Returns the tables of past and future. The distance 0 is in the past's.
Tables tables_of(const RelativeGlobalAttention& layer) {
  int64_t P = layer.past_embeddings.size(1), H = layer.n_head;
  auto row = [=](int64_t h, int64_t delta) { return h * P + P - 1 - std::abs(delta); };
  Rows past{H, {0, P - 1}, row}, future{H, {1 - P, -1}, row};
  Tables tables;
  if (layer.past_bias.defined())
    tables.push_back(past.biases("bias s / √D", layer.past_bias, score_factor(layer)));
  if (layer.future_bias.defined())
    tables.push_back(future.biases("future bias s / √D", layer.future_bias, score_factor(layer)));
  tables.push_back(past.norms("norm of E", layer.past_embeddings));
  if (layer.future_embeddings.defined())
    tables.push_back(future.norms("norm of future E", layer.future_embeddings));
  return tables;
}

Tables tables_of(const ShawAttention& layer) {
  int64_t m = layer.max_distance;
  Rows rows{1, {layer.causal ? 0 : -m, m}, [=](int64_t, int64_t delta) { return m - delta; }};
  Tables tables;
  if (layer.key_distance_embeddings.defined())
    tables.push_back(rows.norms("norm of the keys' a", layer.key_distance_embeddings));
  if (layer.value_distance_embeddings.defined())
    tables.push_back(rows.norms("norm of the values' b", layer.value_distance_embeddings));
  return tables;
}

/// Returns the farthest distances that w reaches, back and ahead.
Distances reach(const Aft& layer, int64_t T) {
  int64_t back = layer.form == shiftgrad::AftForm::full ? T - 1 : std::min(T, layer.window) - 1;
  if (layer.form == shiftgrad::AftForm::conv && !layer.causal) back = layer.window / 2;
  return {layer.causal ? 0 : -back, back};
}

/// Returns the mean of w over all pairs at each distance. For conv these are all equal.
Tables tables_of(const Aft& layer) {
  if (layer.form == shiftgrad::AftForm::simple) return {};
  bool conv = layer.form == shiftgrad::AftForm::conv;
  int64_t T = conv ? layer.window : layer.max_len;
  AftBand band = layer.band(0, T);
  std::vector<double> w = doubles(band.bias);
  int64_t groups = band.bias.size(0), width = band.bias.size(2);
  auto mean = [&](int64_t g, int64_t delta) {
    double sum = 0;
    int64_t begin = std::max<int64_t>(0, delta), end = T + std::min<int64_t>(0, delta);
    for (int64_t t = begin; t < end; ++t)
      sum += w[(g * T + t) * width + t - delta - band.start - band.step * t];
    return sum / static_cast<double>(end - begin);
  };
  return {table(conv ? "bias w" : "bias w, mean over queries", groups, reach(layer, T), mean)};
}

}  // namespace

Tables distance_tables(const shiftgrad::Layer& mixer, int64_t distances) {
  shiftgrad::Tape::Pause constant;
  if (auto* layer = dynamic_cast<const TransformerXLAttention*>(&mixer))
    return tables_of(*layer, distances);
  if (auto* layer = dynamic_cast<const RelativeMultiHeadAttention*>(&mixer))
    return tables_of(*layer);
  if (auto* layer = dynamic_cast<const RelativeGlobalAttention*>(&mixer)) return tables_of(*layer);
  if (auto* layer = dynamic_cast<const ShawAttention*>(&mixer)) return tables_of(*layer);
  if (auto* layer = dynamic_cast<const Aft*>(&mixer)) return tables_of(*layer);
  return {};
}

std::vector<Tables> distance_tables(const shiftgrad::LanguageModel& model, int64_t distances) {
  std::vector<Tables> layers;
  for (const auto& layer : model.blocks) {
    auto* block = dynamic_cast<const shiftgrad::TransformerBlock*>(layer.get());
    if (!block) continue;
    Tables tables = distance_tables(*block->mixer, distances);
    if (!tables.empty()) layers.push_back(tables);
  }
  return layers;
}

std::string why_no_distances(const shiftgrad::LanguageModelConfig& config) {
  if (config.position == shiftgrad::TokenPosition::learned)
    return "its learned positions are absolute";
  if (config.position == shiftgrad::TokenPosition::sinusoid)
    return "its sinusoids are absolute and fixed";
  auto* mixer = std::get_if<shiftgrad::MultiHeadAttentionConfig>(&config.mixer);
  if (mixer && mixer->position == shiftgrad::AttentionPosition::alibi)
    return "ALiBi's slopes are fixed";
  if (mixer && mixer->position == shiftgrad::AttentionPosition::rope)
    return "rotary positions are fixed";
  return "it has no positions";
}

}  // namespace char_lm
