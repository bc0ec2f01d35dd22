#pragma once

#include "nn/module.h"
#include "nn/parameters.h"
#include "ops/matmul.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Linear layer: y = x Wᵀ + b. W starts at N(0, 0.02²), b at 0. PyTorch: nn.Linear.
struct Linear : Module {
  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined

  Linear() = default;
  /// Takes `in` channels to `out`.
  Linear(int64_t in, int64_t out, bool with_bias, Init init)
      : weight(normal_parameter({out, in}, init)) {
    if (with_bias) bias = constant_parameter({out}, 0, init);
  }

  /// Returns y.
  Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }

  /// Returns elements begin … end-1 of y alone.
  Tensor part(const Tensor& x, int64_t begin, int64_t end) const {
    return linear(x, slice(weight, 0, begin, end),
                  bias.defined() ? slice(bias, 0, begin, end) : bias);
  }

  void visit(Visitor& visitor) const override {
    visitor("weight", weight, Decay::yes);
    visitor("bias", bias);
  }
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
