#pragma once

//     y_t = tanh(Σ_{d<s} W_d x_{t-d} + b),   x = 0 before the start
//
// Wang et al. 2019 (section 3.1) compare LocalRNN with this layer. It sees the same window, and has
// a matrix for each distance in place of one for all.

#include "nn/layer.h"
#include "nn/linear.h"
#include "ops/concat.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace shiftgrad {

struct CausalConvolution : Layer {
  int64_t window;
  Linear taps;  // [C, sC]

  CausalConvolution(int64_t d_model, int64_t window, Random& random)
      : window(window), taps(window * d_model, d_model, true, random) {}

  /// Without memory.
  Tensor forward(const Tensor& x, const Past&, Context&) const override {
    Tensor zeros = Tensor::zeros({x.size(0), window - 1, x.size(2)});
    Tensor padded = concat({zeros, x}, 1);  // [B, s-1+T, C]
    std::vector<Tensor> shifted;
    for (int64_t d = 0; d < window; ++d) shifted.push_back(slice(padded, 1, d, d + x.size(1)));
    return tanh(taps(concat(shifted, 2)));  // [B, T, C]
  }

  std::unique_ptr<Cache> make_cache(int64_t) const override {
    fail("causal_convolution: no state");
  }
  void visit(Visitor& visitor) const override { visitor("taps", taps); }
};

}  // namespace shiftgrad
