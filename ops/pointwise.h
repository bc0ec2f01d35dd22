#pragma once

// The loop behind functions of single elements, whatever the layouts of their operands.

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "core/accumulate.h"
#include "core/machine/simd.h"
#include "core/tape.h"
#include "core/tensor.h"
#include "core/walk.h"

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

/// Returns f(a, b) of each pair of elements, for operands of one shape. Nothing is recorded.
inline Tensor zipped(simd::Binary f, const Tensor& a, const Tensor& b) {
  Tensor y = Tensor::empty(a.shape());
  apply<2>({&a, &b}, y, [f](const auto& in, Scalar* out, int64_t length) {
    simd::zip(f, in[0], in[1], out, length);
  });
  return y;
}

/// Writes dy · other into the gradient of x; a dy of 0 passes nothing on.
inline void write_weighted(const Tensor& x, const Tensor& dy, const Tensor& other) {
  write_gradient(x.open_gradient(), [&](const Tensor& dx, Scalar beta) {
    apply<2>({&dy, &other}, dx, [beta](const auto& in, Scalar* out, int64_t length) {
      beta == 0 ? simd::zip(simd::Binary::weigh, in[0], in[1], out, length)
                : simd::multiply_add(in[0], in[1], out, length);
    });
  });
}

/// The shape to which both operands of an op broadcast.
inline Dims shape_of_both(const char* operation, const Tensor& a, const Tensor& b) {
  require_defined(operation, "the left operand", a, "the right operand", b);
  return broadcast_shape(operation, a.shape(), b.shape());
}

/// Returns the array {y, slopes…} for `pointwise`.
auto with_gradients(auto... values) { return std::array{static_cast<Scalar>(values)...}; }

/// Computes and records a function of single elements, for operands of one shape: f(x_1, …) returns
/// with_gradients(y, ∂y/∂x_1, …). An element whose slope is 0 gets no gradient, whatever dy is, and
/// a dy of 0 passes nothing on, whatever the slope is.
Tensor pointwise(const char* operation, auto f, const auto&... x) {
  (require_defined(operation, "x", x), ...);
  Tensor y = mapped([f](auto... in) { return f(in...)[0]; }, x...);
  record(y, {&x...}, [f, x...](const Tensor& dy) {
    size_t operand = 0;
    auto pass_on = [&](const Tensor& to) {
      auto share = [f, n = ++operand](Scalar dy, auto... in) {
        Scalar slope = f(in...)[n];
        bool none = slope == 0 || (dy == 0 && !std::isfinite(slope));
        return none ? 0 : slope * dy;
      };
      if (to.requires_gradient()) accumulate(to.open_gradient(), mapped(share, dy, x...));
    };
    (pass_on(x), ...);
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
