#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "ops/visibility.h"
#include "tests/support/random_values.h"

namespace shiftgrad::test {

/// What the rules and masks say of one pair, written out.
inline bool is_seen(const Visibility& v, int64_t b, int64_t i, int64_t j, int64_t T, int64_t K) {
  int64_t distance = K - T + i - j;
  if (v.causal && distance < 0) return false;
  if (v.window && (distance > v.window->left || -distance > v.window->right)) return false;
  if (v.chunk) {
    auto chunk_of = [&](int64_t position) {
      return std::floor(static_cast<double>(v.first_position + position) /
                        static_cast<double>(v.chunk->size));
    };
    double before = chunk_of(j + distance) - chunk_of(j);
    if (before < 0 || before > static_cast<double>(v.chunk->left_chunks)) return false;
  }
  if (v.padding && v.padding->values[static_cast<size_t>(b * K + j)]) return false;
  if (!v.hidden) return true;
  Dims shape = v.hidden->shape;  // [T, K] or [B, T, K]
  if (shape.size() == 2) shape.insert(0, 1);
  int64_t member = shape[0] == 1 ? 0 : b, query = shape[1] == 1 ? 0 : i;
  return !v.hidden->values[static_cast<size_t>((member * shape[1] + query) * K + j)];
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
