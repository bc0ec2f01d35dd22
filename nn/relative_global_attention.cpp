#include "nn/relative_global_attention.h"

#include "core/errors.h"
#include "nn/positions.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns a row for each distance from K - 1 down to 0, and on to -(T-1) if there is a future
/// table: [n, H, …] of tables [H, max_seq, …]. The past's rows come in order, then the
/// future's from the nearest on, without its row for δ = 0.
Tensor rows_by_distance(const Tensor& past, const Tensor& future, int64_t T, int64_t K) {
  if (!past.defined()) return {};
  Tensor unknown = Tensor::zeros({});  // distances outside the window
  Tensor behind = last_rows(transpose(past, 0, 1), K, unknown);
  if (!future.defined() || T <= 1) return behind;
  Tensor others = slice(transpose(future, 0, 1), 0, 0, future.size(1) - 1);
  return concat({behind, flip(last_rows(others, T - 1, unknown), 0)}, 0);
}

}  // namespace

RelativeGlobalAttention::RelativeGlobalAttention(const RelativeGlobalAttentionConfig& config,
                                                 Width width, Init init) {
  build_from(config, width, true, init);
  int64_t distances = config.max_seq;
  window = distances;
  auto embeddings = [&] { return normal_parameter({n_head, distances, d_head}, init); };
  auto bias = [&] { return constant_parameter({n_head, distances}, 0, init); };
  past_embeddings = embeddings();
  if (!causal) future_embeddings = embeddings();
  if (config.relative_bias) past_bias = bias();
  if (config.relative_bias && !causal) future_bias = bias();
}

RelativeAttention RelativeGlobalAttention::equation(const Heads& heads, const Tensor&) const {
  const auto& [q, k, v, _] = heads;
  int64_t T = q.size(2), K = k.size(2);
  RelativeAttention score{.query = q, .key = k, .value = v};                         // q_i·k_j
  score.position_rows = rows_by_distance(past_embeddings, future_embeddings, T, K);  // q_i·E_δ
  score.position_scores = rows_by_distance(past_bias, future_bias, T, K);            // s_δ
  return score;
}

void RelativeGlobalAttention::visit(Visitor& visitor) const {
  Attention::visit(visitor);
  visitor("past_embeddings", past_embeddings);
  visitor("past_bias", past_bias);
  visitor("future_embeddings", future_embeddings);
  visitor("future_bias", future_bias);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
