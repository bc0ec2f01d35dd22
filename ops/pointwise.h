#pragma once

// The loop behind functions of single elements, whatever the layouts of their operands.

#include <algorithm>
#include <array>

#include "shiftgrad/core/tensor.h"
#include "shiftgrad/core/walk.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The number of elements that runs are worked on at a time, so that gathered operands stay in
/// cache.
inline constexpr int64_t piece = 1024;
using Scratch = std::array<Scalar, piece>;

/// Returns `length` elements side by side: where they are, or gathered into `scratch`.
inline const Scalar* dense(const Scalar* x, int64_t step, int64_t length, Scratch& scratch) {
  if (step == 1) return x;
  for (int64_t n = 0; n < length; ++n) scratch[n] = x[n * step];
  return scratch.data();
}

/// Computes y = f(inputs…) for operands of y's shape at any layout; y is contiguous.
template <size_t N, class F>
void apply(const std::array<const Tensor*, N>& inputs, const Tensor& y, F f) {
  std::array<const Layout*, N + 1> layouts;
  std::array<const Scalar*, N> data;
  for (size_t o = 0; o < N; ++o) {
    layouts[o] = &inputs[o]->layout();
    data[o] = inputs[o]->data() - layouts[o]->offset;
  }
  layouts[N] = &y.layout();
  Scalar* result = y.mutable_data() - y.layout().offset;
  Walk<N + 1>(layouts).parallel([&](const auto& run) {
    std::array<Scratch, N> scratch;
    for (int64_t done = 0; done < run.length; done += piece) {
      int64_t length = std::min(piece, run.length - done);
      std::array<const Scalar*, N> operands;
      for (size_t o = 0; o < N; ++o)
        operands[o] =
            dense(data[o] + run.at[o] + done * run.step[o], run.step[o], length, scratch[o]);
      f(operands, result + run.at[N] + done, length);
    }
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
