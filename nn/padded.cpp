#include "nn/padded.h"

#include <algorithm>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Returns the mask [B, T] of what stands behind the sequences, or null.
std::shared_ptr<const Mask> padding(const std::vector<int64_t>& lengths, int64_t T) {
  Mask mask{{std::ssize(lengths), T}, {}};
  for (int64_t length : lengths)
    for (int64_t t = 0; t < T; ++t) mask.values.push_back(t >= length);
  bool any = std::ranges::find(mask.values, 1) != mask.values.end();
  return any ? std::make_shared<const Mask>(std::move(mask)) : nullptr;
}

/// Throws unless the sequence has elements, and the shape of the first from its second axis on.
void check_sequence(const Tensor& sequence, size_t n, const Dims& first) {
  Dims expected = first;
  if (sequence.rank() > 0 && !expected.empty()) expected[0] = sequence.size(0);
  require(sequence.rank() > 0 && sequence.shape() == expected, "pad: sequence ", n, " of shape ",
          sequence.shape(), ", expected [T, …] as sequence 0, ", first);
  require(sequence.size(0) > 0, "pad: sequence ", n, " is empty, expected at least 1 element");
}

}  // namespace

std::vector<int64_t> lengths_of(const Dims& shape, const Mask* mask) {
  if (!mask) return std::vector<int64_t>(shape[0], shape[1]);
  std::vector<int64_t> counts;
  for (auto row = mask->values.begin(); row != mask->values.end(); row += shape[1])
    counts.push_back(std::count(row, row + shape[1], 0));
  return counts;
}

Tensor weights_of(const Dims& values, const Mask* mask) {
  Dims shape = values;
  for (int axis = 2; axis < shape.size(); ++axis) shape[axis] = 1;
  if (!mask) return Tensor::full(shape, 1);
  Tensor weights = Tensor::empty(shape);
  std::transform(mask->values.begin(), mask->values.end(), weights.mutable_data(),
                 [](uint8_t hidden) { return static_cast<Scalar>(!hidden); });
  return weights;
}

Padded<Tensor> pad(const std::vector<Tensor>& sequences, Scalar fill) {
  require(!sequences.empty(), "pad: no sequence, expected at least 1");
  std::vector<int64_t> lengths;
  for (const Tensor& sequence : sequences) {
    require(sequence.defined(), "pad: sequence ", lengths.size(), " is undefined");
    check_sequence(sequence, lengths.size(), sequences[0].shape());
    lengths.push_back(sequence.size(0));
  }
  Dims shape = sequences[0].shape();
  shape[0] = *std::ranges::max_element(lengths);
  shape.insert(0, std::ssize(sequences));
  Tensor values = Tensor::full(shape, fill);  // [B, T, …]
  int64_t row = values.count() / shape[0];
  for (size_t n = 0; n < sequences.size(); ++n) {
    std::vector<Scalar> from = sequences[n].values();
    std::copy(from.begin(), from.end(), values.mutable_data() + static_cast<int64_t>(n) * row);
  }
  return {values, padding(lengths, shape[1])};
}

Padded<Tokens> pad(const std::vector<std::vector<int32_t>>& sequences, int32_t fill) {
  std::vector<int64_t> lengths;
  for (const auto& sequence : sequences) lengths.push_back(std::ssize(sequence));
  int64_t T = lengths.empty() ? 1 : std::max<int64_t>(1, *std::ranges::max_element(lengths));
  Tokens tokens{{std::ssize(sequences), T}, {}};  // [B, T]
  for (const auto& sequence : sequences) {
    tokens.values.insert(tokens.values.end(), sequence.begin(), sequence.end());
    tokens.values.resize(tokens.values.size() + T - sequence.size(), fill);
  }
  return {std::move(tokens), padding(lengths, T)};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
