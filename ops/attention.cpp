#include "ops/attention.h"

#include <array>

#include "core/tape.h"
#include "ops/attention/tile.h"
#include "ops/attention_check.h"
#include "ops/dense_rows.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor relative_attention(const RelativeAttention& attention) {
  check_attention(attention);
  RelativeAttention a = attention;
  a.factor = a.factor.value_or(1);
  std::array parts{&a.query,
                   &a.key,
                   &a.value,
                   &a.content_bias,
                   &a.position_bias,
                   &a.position_rows,
                   &a.position_queries,
                   &a.position_scores,
                   &a.key_scores,
                   &a.sink,
                   &a.clipped_keys,
                   &a.clipped_values};
  for (Tensor* x : parts) *x = with_dense_rows(*x);
  std::vector<const Tensor*> inputs(parts.begin(), parts.end());
  Tensor parameters;
  if (a.score_function) parameters = with_dense_rows(a.score_function->parameters);
  inputs.push_back(&parameters);
  AttentionProblem problem{a};
  Tensor by_token = Tensor::empty({problem.B, problem.T, problem.H, problem.E});
  Tensor y = transpose(by_token, 1, 2);  // [B, H, T, E]
  if (y.count() == 0) {
    record(y, inputs, [](const Tensor&) {});
    return y;
  }
  AttentionRecord saved{.y = y, .rows = {}, .exponentials = {}, .parameters = parameters};
  if (recording(inputs)) {
    saved.rows = Tensor::empty({problem.B, problem.H, problem.T, 2});
    if (problem.keeps_exponentials())
      saved.exponentials = Tensor::empty({problem.B, problem.H, problem.T, problem.K});
  }
  attention_forward(a, saved);
  record(y, inputs, [a, saved](const Tensor& dy) { attention_backward(a, saved, dy); });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
