#include "shiftgrad/ops/arithmetic.h"
#include "shiftgrad/ops/attention.h"
#include "shiftgrad/ops/attention/block.h"
#include "shiftgrad/ops/clipped.h"
#include "shiftgrad/ops/matmul.h"
#include "shiftgrad/ops/shape.h"
#include "shiftgrad/ops/shift.h"
#include "shiftgrad/ops/softmax.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the query with a bias [H, D] of its head, such as q_i + content_bias.
Tensor biased(const Tensor& query, const Tensor& bias) {
  return bias.defined() ? query + unsqueeze(bias, 1) : query;
}

/// Returns a table [n, H or 1, D] as [H or 1, n, D].
Tensor by_head(const Tensor& table) { return transpose(table, 0, 1); }

}  // namespace

Tensor composed_attention(const RelativeAttention& attention, const ProbabilityRecorder& recorder) {
  check_attention(attention);
  const auto& [q, k, v, u, position_bias, r, s, a, b, factor, visibility, dropout_pattern] =
      attention;
  int64_t T = q.size(2), K = k.size(2);
  Tensor position_query = biased(q, position_bias);    // q_i + position_bias
  Tensor scores = matmul(biased(q, u), transpose(k));  // (q_i + content_bias)·k_j [B, H, T, K]
  if (r.defined()) scores = scores + relative_product(position_query, r, K);  // r is position_rows
  if (s.defined()) scores = scores + relative_bias(s, T, K);            // s is position_scores
  if (a.defined()) {                                                    // a is clipped_keys
    Tensor by_clipped = matmul(position_query, transpose(by_head(a)));  // [B, H, T, 2m + 1]
    scores = scores + gather_by_distance(by_clipped, K);
  }
  Tensor p = masked_softmax(scores, visibility, factor);  // [B, H, T, K]
  if (recorder) recorder(p);
  p = dropout(p, dropout_pattern);
  Tensor y = matmul(p, v);  // Σ_j p_ij v_j [B, H, T, D]
  if (b.defined())          // Σ_j p_ij clipped_values[c]
    y = y + matmul(bucket_by_distance(p, b.size(0) / 2), by_head(b));
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
