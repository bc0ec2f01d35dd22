#pragma once

// Sequences fed to a layer in pieces, through either of its two ways to remember.

#include <algorithm>
#include <vector>

#include "ops/concat.h"
#include "ops/shape.h"
#include "tests/support/layer_rows.h"

namespace shiftgrad::test {

/// The tokens begin … end-1 of x [B, t, C], in memory of their own.
inline Tensor tokens(const Tensor& x, int64_t begin, int64_t end) {
  return slice(x, 1, begin, end).detach();
}

/// `lengths` repeated until they make up `total`, the last one cut.
inline std::vector<int64_t> cuts(const std::vector<int64_t>& lengths, int64_t total) {
  std::vector<int64_t> result;
  for (size_t n = 0; total > 0; ++n) {
    result.push_back(std::min(total, lengths[n % lengths.size()]));
    total -= result.back();
  }
  return result;
}

/// The outputs for x when its pieces go through a cache one after the other.
inline Tensor feed(const Layer& layer, Cache& cache, const Tensor& x,
                   const std::vector<int64_t>& lengths) {
  std::vector<Tensor> outputs;
  Context context;
  int64_t t = 0;
  for (int64_t length : lengths) {
    outputs.push_back(layer(tokens(x, t, t + length), cache, context));
    t += length;
  }
  return concat(outputs, 1);
}

/// The same with at most the `kept` last tokens before each piece as its memory.
inline Tensor feed_with_memory(const Layer& layer, const Tensor& x,
                               const std::vector<int64_t>& lengths, int64_t kept = unlimited) {
  std::vector<Tensor> outputs;
  Context context;
  int64_t t = 0;
  for (int64_t length : lengths) {
    Tensor memory = tokens(x, std::max<int64_t>(0, t - kept), t);
    outputs.push_back(layer(tokens(x, t, t + length), memory, context));
    t += length;
  }
  return concat(outputs, 1);
}

/// The outputs for x in one pass.
inline Tensor whole(const Layer& layer, const Tensor& x) {
  Context context;
  return layer(x, {}, context);
}

/// A length of sequence that the row is defined for.
inline int64_t length_of(const LayerRow& row, int64_t wanted) {
  return std::min(wanted, row.max_keys);
}

}  // namespace shiftgrad::test
