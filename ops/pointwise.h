#pragma once

// A function of single elements of your own, with its gradient, whatever the layouts of its
// operands: a lambda that returns its value and its slopes.
//
//     Tensor softsign(const Tensor& x) {
//       auto f = [](Scalar value) {
//         Scalar d = 1 + std::abs(value);
//         return with_gradients(value / d, 1 / (d * d));
//       };
//       return pointwise("softsign", f, x);
//     }

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "core/accumulate.h"
#include "core/tape.h"
#include "core/tensor.h"
#include "core/walk.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace elements {

/// The number of elements that runs are worked on at a time, so that gathered operands stay in
/// cache.
inline constexpr int64_t piece = 1024;
using Scratch = std::array<Scalar, piece>;

/// Returns `length` elements side by side: where they are, or gathered into `scratch`.
inline const Scalar* dense(const Scalar* x, int64_t step, int64_t length, Scratch& scratch) {
  if (step == 1) return x;
  for (int64_t n = 0; n < length; ++n) scratch.data()[n] = x[n * step];
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

/// Returns f(x…) of each element, for operands of one shape. Nothing is recorded.
Tensor mapped(auto f, const Tensor& x, const auto&... others) {
  Tensor y = Tensor::empty(x.shape());
  apply<1 + sizeof...(others)>(
      {&x, &others...}, y, [f](const auto& in, Scalar* out, int64_t length) {
        for (int64_t n = 0; n < length; ++n)
          out[n] = std::apply([&](auto... from) { return f(from[n]...); }, in);
      });
  return y;
}

}  // namespace elements

/// Returns the array {y, slopes…} for `pointwise`.
auto with_gradients(auto... values) { return std::array{static_cast<Scalar>(values)...}; }

/// Computes and records a function of single elements, for operands of one shape: f(x_1, …) returns
/// with_gradients(y, ∂y/∂x_1, …). An element whose slope is 0 gets no gradient, whatever dy is, and
/// a dy of 0 passes nothing on, whatever the slope is.
Tensor pointwise(const char* operation, auto f, const auto&... x) {
  (require_defined(operation, "x", x), ...);
  Tensor y = elements::mapped([f](auto... in) { return f(in...)[0]; }, x...);
  record(y, {&x...}, [f, x...](const Tensor& dy) {
    size_t operand = 0;
    auto pass_on = [&](const Tensor& to) {
      auto share = [f, n = ++operand](Scalar of_y, auto... in) {
        Scalar slope = f(in...)[n];
        bool none = slope == 0 || (of_y == 0 && !std::isfinite(slope));
        return none ? 0 : slope * of_y;
      };
      if (to.requires_gradient()) accumulate(to.open_gradient(), elements::mapped(share, dy, x...));
    };
    (pass_on(x), ...);
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
