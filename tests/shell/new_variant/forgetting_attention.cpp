#include "nn/forgetting_attention.h"

#include <cmath>
#include <vector>

#include "ops/arithmetic.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

ForgettingAttention::ForgettingAttention(const ForgettingAttentionConfig& config, Width width,
                                         Init init) {
  build_from(config, width, true, init);
  slope = constant_parameter({n_head}, 0, init);
}

RelativeAttention ForgettingAttention::equation(const Heads& heads, const Tensor&) const {
  const auto& [q, k, v, _] = heads;  // [B, H, T, D], and [B, H, K, D] twice
  std::vector<Scalar> distances;
  for (int64_t delta = k.size(2) - 1; delta >= 0; --delta)
    distances.push_back(static_cast<Scalar>(-delta * std::sqrt(d_head)));
  RelativeAttention score{.query = q, .key = k, .value = v};                // q_i·k_j
  score.position_scores = Tensor::from({k.size(2), 1}, distances) * slope;  // [K, H]
  return score;
}

void ForgettingAttention::visit(Visitor& visitor) const {
  Attention::visit(visitor);
  visitor("slope", slope);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
