#include "ops/visibility.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"

namespace shiftgrad {

namespace {

int64_t floor_divide(int64_t a, int64_t b) { return (a < 0 ? a - b + 1 : a) / b; }

}  // namespace

Dims Window::numbers() const {
  return left == right && left < INT64_MAX ? Dims{left + 1} : Dims{left, right};
}

std::string range_error(const Window& window, const Range& sizes) {
  if (window.numbers().size() == 1) return range_error(static_cast<double>(window.left) + 1, sizes);
  Range distances{sizes.least - 1, sizes.greatest};
  std::string wrong = range_error(static_cast<double>(window.left), distances);
  return wrong.empty() ? range_error(static_cast<double>(window.right), distances) : wrong;
}

std::string range_error(const Chunk& chunk, const Range& sizes) {
  std::string wrong = range_error(static_cast<double>(chunk.size), sizes);
  if (!wrong.empty()) return wrong;
  return range_error(static_cast<double>(chunk.left_chunks), {0, sizes.greatest});
}

int64_t Sight::farthest(int64_t none) const {
  int64_t left = window ? window->left : none;
  if (!chunk) return left;
  require(chunk->size >= 1, "chunk: ", *chunk, ", expected a size of at least 1");
  int64_t chunks = std::min(chunk->left_chunks, none / chunk->size - 1) + 1;
  return std::min(left, chunks * chunk->size - 1);
}

bool Sight::sees_ahead() const {
  return !causal && !(window && window->right == 0) && !(chunk && chunk->size == 1);
}

void Visibility::check(const char* operation, int64_t B, int64_t T, int64_t K) const {
  Sight(sight).limits([&](const auto& rule, const Field& field) {
    std::string wrong = rule ? range_error(*rule, {1, HUGE_VAL}) : "";
    if (!wrong.empty()) fail(operation, ": a ", field.name, " of ", *rule, wrong);
  });
  std::string wrong = range_error(static_cast<double>(first_position), range::steps);
  require(wrong.empty(), operation, ": a first_position of ", first_position, wrong);
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

Interval Visibility::range(int64_t i, int64_t T, int64_t K) const {
  const auto& [causal, window, chunk] = sight;
  int64_t position = K - T + i, far = first_position + T + K;  // beyond any distance
  Interval range{0, causal ? position + 1 : K};
  auto narrow = [&](int64_t begin, int64_t end) {
    range = {std::max(range.begin, begin), std::min(range.end, end)};
  };
  if (window)
    narrow(position - std::min(window->left, far), position + 1 + std::min(window->right, far));
  if (chunk) {
    int64_t size = std::min(chunk->size, far), chunks = std::min(chunk->left_chunks, far / size);
    int64_t own = floor_divide(first_position + position, size) * size - first_position;
    narrow(own - chunks * size, own + size);
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
