#include "ops/visibility.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/layout.h"
#include "core/walk.h"

namespace shiftgrad {

namespace {

int64_t floor_divide(int64_t a, int64_t b) { return (a < 0 ? a - b + 1 : a) / b; }

/// Returns the keys that the causal rule, the window and the chunks leave to query i of T; `far` is
/// beyond any distance.
Interval range_of(const Visibility& visibility, int64_t i, int64_t T, int64_t K) {
  const auto& [causal, window, chunk, always] = visibility.sight;
  const int64_t from = visibility.first_position, position = K - T + i, far = from + T + K;
  Interval range{0, causal ? position + 1 : K};
  auto narrow = [&](int64_t begin, int64_t end) {
    range = {std::max(range.begin, begin), std::min(range.end, end)};
  };
  if (window)
    narrow(position - std::min(window->left, far), position + 1 + std::min(window->right, far));
  if (chunk) {
    int64_t size = std::min(chunk->size, far), chunks = std::min(chunk->left_chunks, far / size);
    int64_t own = floor_divide(from + position, size) * size - from;
    narrow(own - chunks * size, own + size);
  }
  return range;
}

/// Returns how many first keys `always` shows to query i of T.
int64_t first_keys(const Visibility& visibility, int64_t i, int64_t T, int64_t K) {
  const int64_t past = visibility.sight.causal ? std::max<int64_t>(K - T + i + 1, 0) : K;
  return std::min({*visibility.sight.always, past, K});
}

void check_hidden(const char* operation, const Mask& hidden, int64_t B, int64_t T, int64_t K) {
  const Dims& shape = hidden.shape;
  auto fits = [](int64_t size, int64_t whole) { return size == whole || size == 1; };
  bool ok = (shape.size() == 2 || (shape.size() == 3 && fits(shape[0], B))) && fits(shape[-2], T) &&
            shape[-1] == K;
  require(ok, operation, ": attention_mask ", shape, ", expected ", Dims{T, K}, " or ",
          Dims{B, T, K}, " (1 for the batch or the queries broadcasts)");
  require_complete(operation, "attention_mask", hidden);
}

void check_spans(const char* operation, const Tokens& spans, int64_t B, int64_t T, int64_t K) {
  const Dims& shape = spans.shape;
  require(shape == Dims{B, T, 2} || shape == Dims{1, T, 2}, operation, ": spans ", shape,
          ", expected ", Dims{B, T, 2}, " (1 for the batch broadcasts)");
  require_complete(operation, "spans", spans);
  for (size_t n = 0; n < spans.values.size(); n += 2) {
    const int64_t begin = spans.values[n], end = spans.values[n + 1];
    require(0 <= begin && begin <= end && end <= K, operation, ": a span of ", begin, " to ", end,
            ", expected numbers from 0 to ", K, ", the smaller first");
  }
}

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
  if (always) return none;
  int64_t left = window ? window->left : none;
  if (!chunk) return left;
  require(chunk->size >= 1, "chunk: ", *chunk, ", expected a size of at least 1");
  int64_t chunks = std::min(chunk->left_chunks, none / chunk->size - 1) + 1;
  return std::min(left, chunks * chunk->size - 1);
}

bool Sight::sees_ahead() const {
  return !causal && (always || (!(window && window->right == 0) && !(chunk && chunk->size == 1)));
}

int64_t Sight::chunk_size() const {
  if (causal) return 1;
  return chunk && (!always || *always <= chunk->size) ? chunk->size : 0;
}

void Visibility::check(const char* operation, int64_t B, int64_t T, int64_t K) const {
  Sight(sight).rules([&](const auto& rule, const Field& field) {
    std::string wrong = rule ? range_error(*rule, {1, HUGE_VAL}) : "";
    if (!wrong.empty()) fail(operation, ": ", rule_text(field.name, *rule), wrong);
  });
  std::string wrong = range_error(static_cast<double>(first_position), range::steps);
  require(wrong.empty(), operation, ": a first_position of ", first_position, wrong);
  if (padding) {
    require(padding->shape == Dims{B, K}, operation, ": key_padding_mask ", padding->shape,
            ", expected ", Dims{B, K});
    require_complete(operation, "key_padding_mask", *padding);
  }
  if (hidden) check_hidden(operation, *hidden, B, T, K);
  if (spans) check_spans(operation, *spans, B, T, K);
}

Interval Visibility::range(int64_t b, int64_t i, int64_t T, int64_t K) const {
  Interval range = range_of(*this, i, T, K);
  if (sight.always) {
    const int64_t first = first_keys(*this, i, T, K);
    if (range.begin >= range.end) range = {0, 0};
    if (first > 0) range = {0, std::max(range.end, first)};
  }
  if (!spans) return range;
  const int64_t member = spans->shape[0] > 1 ? b : 0;
  const int32_t* span = spans->values.data() + 2 * (member * T + i);
  return {std::max<int64_t>(range.begin, span[0]), std::min<int64_t>(range.end, span[1])};
}

Interval Visibility::gap(int64_t i, int64_t T, int64_t K) const {
  if (!sight.always) return {0, 0};
  const Interval range = range_of(*this, i, T, K);
  return {first_keys(*this, i, T, K), range.begin < range.end ? range.begin : 0};
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

std::shared_ptr<const Mask> hidden_by_either(const std::shared_ptr<const Mask>& a,
                                             const std::shared_ptr<const Mask>& b) {
  if (!a || !b) return a ? a : b;
  for (const Mask* mask : {a.get(), b.get()}) require_complete("hidden_by_either", "a mask", *mask);
  Dims shape = broadcast_shape("hidden_by_either", a->shape, b->shape);
  std::array layouts{Layout::contiguous(a->shape).expand(shape),
                     Layout::contiguous(b->shape).expand(shape), Layout::contiguous(shape)};
  Mask either{shape, std::vector<uint8_t>(product(shape))};
  Walk<3>({&layouts[0], &layouts[1], &layouts[2]}).each(0, product(shape), [&](const auto& at) {
    either.values[at[2]] = a->values[at[0]] || b->values[at[1]];
  });
  return std::make_shared<const Mask>(std::move(either));
}

}  // namespace shiftgrad
