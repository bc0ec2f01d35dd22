// The tables of the Attention Free Transformer, whose channels each have weights of their own.

#include "layer_tables.h"
#include "ops/arithmetic.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace show_layer {

using namespace shiftgrad;

namespace {

/// The matrix [T, K] of one channel in weights [1, T, K, C].
Tensor of_channel(const Tensor& weights, int64_t c) { return select(select(weights, 3, c), 0, 0); }

}  // namespace

void add_aft(WorkedExample& example, const Layer& layer, const AftTerms& terms, const Tensor& x,
             const Tensor& memory) {
  const auto& [gate, key, value, band, visibility] = terms;
  int64_t T = x.size(1), K = key.size(1), C = key.size(2);
  Tensor w = widened(band, K).bias;  // [G, T, K]
  Tensor p;
  Context context;
  context.recorder = [&](const Tensor& weights) { p = weights; };
  Tensor y = layer(x, memory, context);

  auto add = [&](const Table& table) { example.tables.push_back(table); };
  auto add_pairs = [&](Table table) {
    table.has_hidden = true;
    add(table);
  };
  add(table_of("σ(q)", "gates: the sigmoid of the new tokens' queries", queries, channels, gate));
  add(table_of("k", "keys of the remembered and the new tokens", keys, channels, key));
  add(table_of("v", "values of the same tokens", keys, channels, value));
  int64_t groups = w.size(0);
  for (int64_t g = 0; g < groups; ++g) {
    std::string name = groups > 1 ? "w of head " + std::to_string(g) : "w";
    add_pairs(table_of(name, "learned score of each query and key, 0 outside the form's band",
                       queries, keys, select(w, 0, g)));
  }
  add(visible_table(visibility, T, K - T));
  for (int64_t c = 0; c < C; ++c) {
    std::string of = " of channel " + std::to_string(c);
    Tensor k = unsqueeze(select(select(key, 2, c), 0, 0), 0);  // [1, K]
    add_pairs(table_of("k + w" + of, "logarithm of the weight before it is divided by the sum",
                       queries, keys, k + select(w, 0, c / (C / groups))));
    add_pairs(table_of("p" + of, "softmax of k + w over the visible keys", queries, keys,
                       of_channel(p, c)));
  }
  add(table_of("y", "output, with the identity for W_output", queries, channels, y));
  example.formula = "p = e^(k + w) / Σ_j e^(k + w) for each channel,   y = σ(q) · Σ_j p v_j";
}

}  // namespace show_layer
