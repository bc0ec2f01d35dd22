#include "layer_tables.h"

namespace show_layer {

using namespace shiftgrad;

void add_tables(WorkedExample& example, const Layer& layer, const Tensor& x, const Tensor& memory) {
  Context context;
  LayerTerms terms = layer.terms(x, memory, context);
  if (auto* attention = std::get_if<RelativeAttention>(&terms))
    return add_attention(example, layer, *attention, x, memory);
  auto* aft = std::get_if<AftTerms>(&terms);
  require(aft, layer.name, ": has no terms to work through");
  add_aft(example, layer, *aft, x, memory);
}

Table table_of(const std::string& name, const std::string& meaning, const Axis& row,
               const Axis& column, const Tensor& values) {
  int64_t columns = values.size(-1);
  std::vector<Scalar> scalars = values.values();
  Table table{name, meaning, row, column, values.count() / columns, columns, {}};
  table.values.assign(scalars.begin(), scalars.end());
  return table;
}

Table visible_table(const Visibility& visibility, int64_t T, int64_t M) {
  int64_t K = M + T;
  Table table{visible, "1 where query i may see key j", queries, keys, T, K, {}};
  for (int64_t i = 0; i < T; ++i)
    for (int64_t j = 0; j < K; ++j) {
      const Interval range = visibility.range(0, i, T, K), gap = visibility.gap(i, T, K);
      table.values.push_back(range.contains(j) && !gap.contains(j) ? 1 : 0);
    }
  return table;
}

}  // namespace show_layer
