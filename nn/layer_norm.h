#pragma once

#include "nn/module.h"
#include "nn/parameters.h"
#include "ops/norm.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Layer normalization: w ⊙ (x - mean) / √(variance + ε) + b (Ba et al. 2016). With `by_deviation`
/// it is the R-Transformer's w ⊙ (x - mean) / (std + ε) + b. w starts at 1, b at 0. PyTorch:
/// nn.LayerNorm.
struct LayerNorm : Module {
  Tensor weight, bias;  // [C]
  /// ε, which keeps the root above 0.
  double epsilon = 1e-5;
  /// Whether ε is added to the deviation.
  bool by_deviation = false;

  LayerNorm() = default;
  /// Norms `width` channels.
  explicit LayerNorm(int64_t width, double eps = 1e-5, bool deviation = false)
      : weight(constant_parameter({width}, 1)),
        bias(constant_parameter({width}, 0)),
        epsilon(eps),
        by_deviation(deviation) {}

  /// Returns the normed x.
  Tensor operator()(const Tensor& x) const {
    return by_deviation ? deviation_norm(x, weight, bias, epsilon)
                        : layer_norm(x, weight, bias, epsilon);
  }

  void visit(Visitor& visitor) const override {
    visitor("weight", weight);
    visitor("bias", bias);
  }
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
