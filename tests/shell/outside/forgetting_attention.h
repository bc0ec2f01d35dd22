#pragma once

// A new variant of attention: each head learns how fast it forgets.

#include <shiftgrad/shiftgrad.h>

#include <cmath>
#include <vector>

namespace outside {

using namespace shiftgrad;

/// score_ij = q_i·k_j / √D - slope_h δ for a key δ tokens back: ALiBi with slopes that are learned.
struct ForgettingAttention : Attention {
  Tensor slope;  // [H]

  ForgettingAttention(int64_t d_model, int64_t n_head, Random& random) {
    build("forgetting_attention", d_model, n_head, std::nullopt, true, random);
    slope = constant_parameter({n_head}, 0);
  }

  RelativeAttention equation(const Heads& heads, const Tensor&) const override {
    const auto& [q, k, v, _] = heads;  // [B, H, T, D], and [B, H, K, D] twice
    std::vector<Scalar> distances;
    for (int64_t delta = k.size(2) - 1; delta >= 0; --delta)
      distances.push_back(static_cast<Scalar>(-delta * std::sqrt(d_head)));
    RelativeAttention score{.query = q, .key = k, .value = v};                // q_i·k_j
    score.position_scores = Tensor::from({k.size(2), 1}, distances) * slope;  // [K, H]
    return score;
  }

  void visit(Visitor& visitor) const override {
    Attention::visit(visitor);
    visitor("slope", slope);
  }
};

}  // namespace outside
