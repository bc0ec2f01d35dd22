#include "nn/multi_head_attention.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/errors.h"
#include "nn/positions.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

/// [H, T, K]: minus slope_h · |δ|.
Tensor distance_penalty(int64_t H, int64_t T, int64_t K) {
  std::vector<double> slopes = alibi_slopes(H);
  Tensor penalty = Tensor::empty({H, T, K});
  Scalar* value = penalty.mutable_data();
  for (int64_t h = 0; h < H; ++h)
    for (int64_t i = 0; i < T; ++i)
      for (int64_t j = 0; j < K; ++j)
        *value++ = static_cast<Scalar>(-slopes[h] * static_cast<double>(std::abs(K - T + i - j)));
  return penalty;
}

MultiHeadAttention::Position position_named(const std::string& name) {
  using Position = MultiHeadAttention::Position;
  if (name == "none") return Position::none;
  if (name == "rope") return Position::rope;
  if (name == "alibi") return Position::alibi;
  fail("multi_head_attention: position \"", name, "\", expected none, rope or alibi");
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionConfig& config, Random& random)
    : position(position_named(config.position)) {
  build(config.type, config.d_model, config.n_head, std::nullopt, config.bias, random);
  causal = config.causal;
  set_window(config.type, config.window);
  attention_dropout = config.attention_dropout;
  require(position != Position::rope || d_head % 2 == 0, config.type,
          ": position rope needs an even head size, but d_model / n_head is ", d_head);
}

Tensor MultiHeadAttention::attend(const Heads& heads, const Tensor&, Context& context) const {
  auto [q, k, v] = heads;
  int64_t T = q.size(2), K = k.size(2);
  if (position == Position::rope) {
    q = rotate(q, K - T);
    k = rotate(k, 0);
  }
  Tensor scores = matmul(q, transpose(k));  // [B, H, T, K]
  Scalar factor = scale();
  if (position == Position::alibi) {
    scores = shiftgrad::scale(scores, factor) + distance_penalty(n_head, T, K);
    factor = 1;
  }
  return matmul(probabilities(scores, visibility(context), factor, context), v);  // [B, H, T, D]
}

Tensor MultiHeadAttention::cross(const Tensor& x, const Tensor& source, Context& context) const {
  require(window == 0, "multi_head_attention: window with a context");
  require(position == Position::none,
          "multi_head_attention: position with a context, expected none");
  auto [q, k, v] = project(x, source);
  Visibility visible{false, 0, context.key_padding_mask, context.attention_mask};
  Tensor p = probabilities(matmul(q, transpose(k)), visible, scale(), context);  // [B, H, T, S]
  return output(merge_heads(matmul(p, v)));                                      // [B, T, C]
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
