#pragma once

#include "ops/visibility.h"
#include "tests/support/masks.h"
#include "tests/support/values.h"

namespace shiftgrad::test {

/// All that goes into a layer besides its parameters.
struct Input {
  Values x;        // [B, T, C]
  Values memory;   // [B, M, C], or undefined
  Values context;  // [B, S, C], for those that attend to another sequence
  std::shared_ptr<const Mask> padding, hidden;

  int64_t B() const { return x.size(0); }
  int64_t T() const { return x.size(1); }
  int64_t C() const { return x.size(2); }
  int64_t M() const { return memory.defined() ? memory.size(1) : 0; }
  int64_t K() const { return M() + T(); }

  /// The memory followed by x, [B, K, C].
  Values tokens() const {
    Values all({B(), K(), C()});
    for (int64_t b = 0; b < B(); ++b)
      for (int64_t j = 0; j < K(); ++j)
        for (int64_t c = 0; c < C(); ++c)
          all(b, j, c) = j < M() ? memory(b, j, c) : x(b, j - M(), c);
    return all;
  }
};

/// Whether query i of batch member b may attend to key j, `keys` in all.
inline bool is_visible(const Input& input, const Sight& sight, int64_t keys, int64_t b,
                       int64_t i, int64_t j) {
  if (!is_in_sight(sight, input.M() + i, j)) return false;
  if (input.padding && input.padding->values[static_cast<size_t>(b * keys + j)]) return false;
  if (!input.hidden) return true;
  const Dims& shape = input.hidden->shape;
  int64_t members = shape.size() == 3 ? shape[0] : 1, queries = shape[-2];
  int64_t member = members == 1 ? 0 : b, query = queries == 1 ? 0 : i;
  return !input.hidden->values[static_cast<size_t>((member * queries + query) * keys + j)];
}

inline int64_t count_of_linear(int64_t in, int64_t out, bool bias) {
  return in * out + (bias ? out : 0);
}

/// Both projections around n_head heads of d_head.
inline int64_t count_of_heads(int64_t C, int64_t width, bool bias) {
  return count_of_linear(C, 3 * width, bias) + count_of_linear(width, C, bias);
}

/// x Wᵀ + b for x [B, T, in]; b may be undefined.
inline Values linear_oracle(const Values& x, const Values& weight, const Values& bias) {
  Values y({x.size(0), x.size(1), weight.size(0)});
  for (int64_t b = 0; b < x.size(0); ++b)
    for (int64_t t = 0; t < x.size(1); ++t)
      for (int64_t o = 0; o < weight.size(0); ++o) {
        double sum = bias.defined() ? bias(o) : 0;
        for (int64_t c = 0; c < x.size(2); ++c) sum += x(b, t, c) * weight(o, c);
        y(b, t, o) = sum;
      }
  return y;
}

inline Values operator+(Values a, const Values& b) {
  for (size_t n = 0; n < a.values.size(); ++n) a.values[n] += b.values[n];
  return a;
}

inline Values operator-(Values a, const Values& b) {
  for (size_t n = 0; n < a.values.size(); ++n) a.values[n] -= b.values[n];
  return a;
}

}  // namespace shiftgrad::test
