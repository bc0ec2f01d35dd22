#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "ops/visibility.h"
#include "tests/support/random_values.h"

namespace shiftgrad::test {

/// What the rules say of one pair by its positions, written out. The first key of all stands at
/// first_position.
inline bool is_in_sight(const Sight& sight, int64_t query, int64_t key,
                        int64_t first_position = 0) {
  int64_t distance = query - key;
  if (sight.causal && distance < 0) return false;
  if (sight.always && key - first_position < *sight.always) return true;
  if (sight.window && (distance > sight.window->left || -distance > sight.window->right))
    return false;
  if (!sight.chunk) return true;
  auto chunk_of = [&](int64_t position) {
    return std::floor(static_cast<double>(position) / static_cast<double>(sight.chunk->size));
  };
  double before = chunk_of(query) - chunk_of(key);
  return before >= 0 && before <= static_cast<double>(sight.chunk->left_chunks);
}

/// What the rules, spans and masks say of one pair.
inline bool is_seen(const Visibility& v, int64_t b, int64_t i, int64_t j, int64_t T, int64_t K) {
  int64_t first = v.first_position;
  if (!is_in_sight(v.sight, first + K - T + i, first + j, first)) return false;
  if (v.spans) {
    int64_t member = v.spans->shape[0] == 1 ? 0 : b;
    const int32_t* span = v.spans->values.data() + 2 * (member * T + i);
    if (j < span[0] || j >= span[1]) return false;
  }
  if (v.padding && v.padding->values[static_cast<size_t>(b * K + j)]) return false;
  if (!v.hidden) return true;
  Dims shape = v.hidden->shape;  // [T, K] or [B, T, K]
  if (shape.size() == 2) shape.insert(0, 1);
  int64_t member = shape[0] == 1 ? 0 : b, query = shape[1] == 1 ? 0 : i;
  return !v.hidden->values[static_cast<size_t>((member * shape[1] + query) * K + j)];
}

/// Spans [B, T, 2] from a rule of its own: of several lengths, some of them empty.
inline std::shared_ptr<const Tokens> some_spans(int64_t B, int64_t T, int64_t K) {
  Tokens spans{{B, T, 2}, {}};
  for (int64_t n = 0; n < B * T; ++n) {
    const int64_t begin = (n * n + n / 3) % (K + 1), end = std::min(K, begin + n * 5 % K);
    spans.values.insert(spans.values.end(), {int32_t(begin), int32_t(end)});
  }
  return std::make_shared<const Tokens>(spans);
}

/// Spans [1, T, 2] of documents of `length` tokens in one row of K keys, whose last T are queries.
inline std::shared_ptr<const Tokens> documents(int64_t T, int64_t K, int64_t length) {
  Tokens spans{{1, T, 2}, {}};
  for (int64_t i = 0; i < T; ++i) {
    const int64_t begin = (K - T + i) / length * length, end = std::min(begin + length, K);
    spans.values.insert(spans.values.end(), {int32_t(begin), int32_t(end)});
  }
  return std::make_shared<const Tokens>(spans);
}

/// A mask whose elements all have one value.
inline std::shared_ptr<Mask> full_mask(const Dims& shape, uint8_t value) {
  return std::make_shared<Mask>(
      Mask{shape, std::vector<uint8_t>(static_cast<size_t>(product(shape)), value)});
}

/// One whose elements an even draw decides.
inline std::shared_ptr<const Mask> random_mask(const Dims& shape, RandomValues& random) {
  std::shared_ptr<Mask> mask = full_mask(shape, 0);
  for (uint8_t& hides : mask->values) hides = random() > 0;
  return mask;
}

/// A mask in which about a third is true, from a rule of its own.
inline std::shared_ptr<const Mask> some(const Dims& shape) {
  Mask mask{shape, {}};
  for (int64_t n = 0; n < product(shape); ++n) mask.values.push_back((n * n + n / 3) % 3 == 0);
  return std::make_shared<const Mask>(mask);
}

/// One with everything true in one batch member, the rest false.
inline std::shared_ptr<const Mask> one_member(const Dims& shape, int64_t member) {
  Mask mask{shape, {}};
  int64_t size = product(shape) / shape[0];
  for (int64_t n = 0; n < product(shape); ++n) mask.values.push_back(n / size == member);
  return std::make_shared<const Mask>(mask);
}

}  // namespace shiftgrad::test
