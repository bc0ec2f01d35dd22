#include "ops/embedding.h"

#include <algorithm>
#include <vector>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// dweight[v] += Σ dy[n] over the places n of token v, in the order of the places. The rows are
/// divided among the threads, so no two write the same one.
void scatter_add(const std::vector<int32_t>& tokens, const Tensor& dy, const Tensor& dweight) {
  int64_t V = dweight.size(0), C = dweight.size(1);
  std::vector<int64_t> first(V + 1, 0), places(tokens.size());
  for (int32_t token : tokens) ++first[token + 1];
  for (int64_t v = 0; v < V; ++v) first[v + 1] += first[v];
  std::vector<int64_t> next(first.begin(), first.end() - 1);
  for (size_t n = 0; n < tokens.size(); ++n) places[next[tokens[n]]++] = static_cast<int64_t>(n);
  parallel_each(V, 8, [&](int64_t v) {
    for (int64_t n = first[v]; n < first[v + 1]; ++n)
      simd::axpby(1, dy.data() + places[n] * C, 1, dweight.mutable_data() + v * C, C);
  });
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tokens& tokens) {
  require_defined("embedding", "weight", weight);
  require(weight.rank() == 2, "embedding: a weight of ", weight.shape(), ", expected [V, C]");
  require_complete("embedding", "tokens", tokens);
  int64_t V = weight.size(0), C = weight.size(1);
  Tensor table = contiguous(weight);
  Dims shape = tokens.shape;
  shape.push_back(C);
  Tensor y = Tensor::empty(shape);
  Scalar* out = y.mutable_data();
  for (int32_t token : tokens.values) {
    require(0 <= token && token < V, "embedding: token ", token, ", expected 0 to ", V - 1);
    out = std::copy_n(table.data() + token * C, C, out);
  }
  record(y, {&table}, [table, values = tokens.values](const Tensor& dy) {
    Tensor dweight = zeroed_target(table.open_gradient());
    if (dweight.defined()) scatter_add(values, dy, dweight);
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
