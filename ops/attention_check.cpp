#include "ops/attention_check.h"

#include <algorithm>

#include "core/checked.h"
#include "core/errors.h"
#include "ops/attention/kernel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

void check_table(const char* name, const Tensor& table, const char* rows, int64_t H, int64_t D) {
  bool fits =
      !table.defined() ||
      (table.rank() == 3 && (table.size(1) == H || table.size(1) == 1) && table.size(2) == D);
  require(fits, "relative_attention: ", name, " ", table.shape(), ", expected [", rows, ", ", H,
          " or 1, ", D, "]");
}

void check_bias(const char* name, const Tensor& bias, int64_t H, int64_t D) {
  require(!bias.defined() || bias.shape() == Dims{H, D}, "relative_attention: ", name, " ",
          bias.shape(), ", expected ", Dims{H, D});
}

/// Throws unless a table has a row for each distance.
void check_distances(const char* name, const Tensor& table, bool causal, int64_t T, int64_t K) {
  int64_t wanted = causal ? K : saturated_sum(K, std::max<int64_t>(T - 1, 0));
  require(!table.defined() || table.size(0) >= wanted, "relative_attention: ", name, " ",
          table.shape(), " for ", T, " queries of ", K, " keys, expected at least ", wanted,
          " rows");
}

void check_clipped(const char* name, const Tensor& table) {
  require(!table.defined() || table.size(0) % 2 == 1, "relative_attention: ", name, " ",
          table.shape(), ", expected an odd number of rows, 2m+1");
}

}  // namespace

bool are_heads(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) return false;
  const int64_t H = q.size(1), G = k.size(1);
  return (G == H || (G > 0 && H % G == 0)) && k.size(3) == q.size(3) && v.size(1) == G &&
         v.size(2) == k.size(2) && k.size(0) == q.size(0) && v.size(0) == q.size(0);
}

void check_attention(const RelativeAttention& a) {
  require_defined("relative_attention", "query", a.query, "key", a.key, "value", a.value);
  const Tensor &q = a.query, &k = a.key, &v = a.value;
  require(are_heads(q, k, v), "relative_attention: query ", q.shape(), ", key ", k.shape(),
          ", value ", v.shape(),
          ": expected [B, H, T, D], [B, G, K, D] and [B, G, K, E], where G divides H");
  int64_t H = q.size(1), T = q.size(2), K = k.size(2), D = q.size(3), E = v.size(3);
  check_bias("content_bias", a.content_bias, H, D);
  check_bias("position_bias", a.position_bias, H, D);
  check_table("position_rows", a.position_rows, "n", H, D);
  check_table("position_queries", a.position_queries, "n", H, D);
  check_table("clipped_keys", a.clipped_keys, "2m+1", H, D);
  check_table("clipped_values", a.clipped_values, "2m+1", H, E);
  check_clipped("clipped_keys", a.clipped_keys);
  check_clipped("clipped_values", a.clipped_values);
  const Tensor& s = a.position_scores;
  require(!s.defined() || (s.rank() == 2 && s.size(1) == H), "relative_attention: position_scores ",
          s.shape(), ", expected [n, ", H, "]");
  const Tensor &g = a.key_scores, &sink = a.sink;
  require(!g.defined() || g.shape() == Dims{q.size(0), H, K} || g.shape() == Dims{q.size(0), 1, K},
          "relative_attention: key_scores ", g.shape(), ", expected [", q.size(0), ", ", H,
          " or 1, ", K, "]");
  require(!sink.defined() || sink.shape() == Dims{H}, "relative_attention: sink ", sink.shape(),
          ", expected ", Dims{H});
  if (a.score_function) check_score_function("relative_attention", *a.score_function, H);
  check_distances("position_rows", a.position_rows, a.visibility.sight.causal, T, K);
  check_distances("position_queries", a.position_queries, a.visibility.sight.causal, T, K);
  check_distances("position_scores", s, a.visibility.sight.causal, T, K);
  require(!a.position_bias.defined() || meets_positions(a),
          "relative_attention: position_bias without position_rows or clipped_keys");
  a.dropout.check("relative_attention", {q.size(0), H, T, K});
  a.visibility.check("relative_attention", q.size(0), T, K);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
