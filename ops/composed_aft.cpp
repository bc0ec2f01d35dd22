#include "core/errors.h"
#include "ops/aft.h"
#include "ops/arithmetic.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "ops/weighted_sum.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor composed_aft(const Tensor& key, const Tensor& value, const AftBand& band,
                    const Visibility& visibility, const ProbabilityRecorder& recorder,
                    const TermEditor& editor) {
  check_aft(key, value, band, visibility);
  int64_t B = key.size(0), K = key.size(1), C = key.size(2);
  int64_t G = band.bias.size(0), T = band.bias.size(1);
  Tensor w = unsqueeze(widened(band, K).bias, 1);       // [G, 1, T, K]
  w = reshape(expand(w, {G, C / G, T, K}), {C, T, K});  // [C, T, K]
  Tensor k = unsqueeze(transpose(key, 1, 2), 2);        // [B, C, 1, K]
  Tensor scores = sum_of_terms({{"content", k}, {"position_bias", w}}, editor, {B, C, T, K});
  Tensor p = masked_softmax(scores, visibility, 1);      // softmax_j(k_j + w_ij) [B, C, T, K]
  if (recorder) recorder(permute(p, {0, 2, 3, 1}));      // [B, T, K, C]
  Tensor v = unsqueeze(transpose(value, 1, 2), 3);       // [B, C, K, 1]
  Tensor y = weighted_sum(p, v);                         // Σ_j p_ij v_j [B, C, T, 1]
  return transpose(select(y, 3, 0), 1, 2);               // [B, T, C]
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
