#include "ops/arithmetic.h"
#include "ops/attention.h"
#include "ops/attention_check.h"
#include "ops/clipped.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "ops/shift.h"
#include "ops/softmax.h"
#include "ops/weighted_sum.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns a table [n, H or 1, D] as [H or 1, n, D].
Tensor by_head(const Tensor& table) { return transpose(table, 0, 1); }

/// Returns x [B, G, K, D] with the rows of its group for each of H heads.
Tensor by_group(const Tensor& x, int64_t H) {
  const Dims& shape = x.shape();
  if (shape[1] == H) return x;
  Tensor repeated = expand(unsqueeze(x, 2), {shape[0], shape[1], H / shape[1], shape[2], shape[3]});
  return reshape(repeated, {shape[0], H, shape[2], shape[3]});
}

/// Returns query_i·(position_rows[δ] + clipped_keys[c]) [B, H, T, K], undefined without both.
Tensor by_distance(const Tensor& query, const RelativeAttention& attention) {
  const Tensor &r = attention.position_rows, &a = attention.clipped_keys;
  int64_t K = attention.key.size(2);
  Tensor scores = r.defined() ? relative_product(query, r, K) : Tensor();
  if (!a.defined()) return scores;
  Tensor by_clipped = gather_by_distance(matmul(query, transpose(by_head(a))), K);
  return scores.defined() ? scores + by_clipped : by_clipped;
}

/// Returns the terms of the equation, before the factor.
std::vector<ScoreTerm> terms_of(const RelativeAttention& attention) {
  const Tensor& q = attention.query;
  int64_t H = q.size(1), T = q.size(2), D = q.size(3), K = attention.key.size(2);
  const Tensor k = by_group(attention.key, H);
  std::vector<ScoreTerm> terms = {{"content_content", matmul(q, transpose(k))}};  // q_i·k_j
  auto add = [&](const char* name, const Tensor& scores) {
    if (scores.defined()) terms.push_back({name, scores});
  };
  add("content_position", by_distance(q, attention));  // q_i·(position_rows[δ] + clipped_keys[c])
  if (attention.content_bias.defined())                // content_bias·k_j
    add("content_bias", matmul(unsqueeze(attention.content_bias, 1), transpose(k)));
  if (attention.position_bias.defined())  // position_bias·(position_rows[δ] + clipped_keys[c])
    add("position_bias",
        by_distance(expand(unsqueeze(attention.position_bias, 1), {1, H, T, D}), attention));
  if (attention.position_queries.defined())  // k_j·position_queries[δ]
    add("position_content", relative_key_product(k, attention.position_queries, T));
  if (attention.position_scores.defined())
    add("position_scores", relative_bias(attention.position_scores, T, K));
  if (attention.key_scores.defined()) add("key_scores", unsqueeze(attention.key_scores, 2));
  return terms;
}

}  // namespace

Tensor attention_probabilities(const RelativeAttention& attention, const TermEditor& editor) {
  check_attention(attention);
  Dims shape = attention.query.shape();
  shape[3] = attention.key.size(2);
  Tensor scores = sum_of_terms(terms_of(attention), editor, shape);
  Scalar factor = attention.factor.value_or(1);
  if (attention.score_function) {
    scores = apply_score_function(attention.score_function, scores, factor, attention.visibility);
    factor = 1;
  }
  return masked_softmax(scores, attention.visibility, factor, attention.sink);  // [B, H, T, K]
}

Tensor composed_attention(const RelativeAttention& attention, const ProbabilityRecorder& recorder,
                          const TermEditor& editor) {
  const Tensor& b = attention.clipped_values;
  Tensor p = attention_probabilities(attention, editor);
  if (recorder) recorder(p);
  p = dropout(p, attention.dropout);
  Tensor y = weighted_sum(p, by_group(attention.value, p.size(1)));  // Σ_j p_ij v_j [B, H, T, E]
  if (b.defined())                                                   // Σ_j p_ij clipped_values[c]
    y = y + weighted_sum(bucket_by_distance(p, b.size(0) / 2), unsqueeze(by_head(b), 0));
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
