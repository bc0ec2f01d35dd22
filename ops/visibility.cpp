#include "ops/visibility.h"

#include <algorithm>

#include "core/errors.h"

namespace shiftgrad {

void Visibility::check(const char* operation, int64_t B, int64_t T, int64_t K) const {
  require(window >= 0, operation, ": a window of ", window, ", expected at least 0 (none)");
  if (padding) {
    require(padding->shape == Dims{B, K}, operation, ": key_padding_mask ", padding->shape,
            ", expected ", Dims{B, K});
    require_complete(operation, "key_padding_mask", *padding);
  }
  if (!hidden) return;
  const Dims& shape = hidden->shape;
  auto fits = [](int64_t size, int64_t whole) { return size == whole || size == 1; };
  bool ok = (shape.size() == 2 || (shape.size() == 3 && fits(shape[0], B))) && fits(shape[-2], T) &&
            shape[-1] == K;
  require(ok, operation, ": attention_mask ", shape, ", expected ", Dims{T, K}, " or ",
          Dims{B, T, K}, " (1 for the batch or the queries broadcasts)");
  require_complete(operation, "attention_mask", *hidden);
}

Visibility::Range Visibility::range(int64_t i, int64_t T, int64_t K) const {
  int64_t position = K - T + i;
  Range range{0, causal ? position + 1 : K};
  if (window > 0) {
    int64_t reach = std::min(window, T + K);  // no distance is as large, and sums stay in range
    range.begin = std::max<int64_t>(0, position - reach + 1);
    range.end = std::min(range.end, position + reach);
  }
  return range;
}

const uint8_t* Visibility::padding_row(int64_t b) const {
  return padding ? padding->values.data() + b * padding->shape[1] : nullptr;
}

const uint8_t* Visibility::hidden_row(int64_t b, int64_t i) const {
  if (!hidden) return nullptr;
  const Dims& shape = hidden->shape;
  int64_t member = shape.size() == 3 && shape[0] > 1 ? b : 0;
  int64_t query = shape[-2] > 1 ? i : 0;
  return hidden->values.data() + (member * shape[-2] + query) * shape[-1];
}

}  // namespace shiftgrad
