#pragma once

// Sequences of unequal length side by side.
//
//     Padded<Tensor> batch = pad(series);                     // batch.values [B, T, C]
//     context.key_padding_mask = batch.mask;                  // nobody attends to padding
//     Tensor loss = mse_loss(y, target, {batch.weights()});   // nor does it count

#include <memory>
#include <type_traits>
#include <vector>

#include "core/array.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the number of elements [B, T, …] in each row that are no padding; a null mask hides
/// none.
std::vector<int64_t> lengths_of(const Dims& shape, const Mask* mask);
/// Returns 1 for each of these elements and 0 for padding, [B, T, 1, …].
Tensor weights_of(const Dims& shape, const Mask* mask);

/// Sequences, each filled up to the length of the longest. Values is Tensor or Tokens.
template <class Values>
struct Padded {
  Values values{};                     ///< [B, T, …]
  std::shared_ptr<const Mask> mask{};  ///< [B, T], true = padding; null if there is none

  /// Returns [B, T, …].
  Dims shape() const {
    if constexpr (std::is_same_v<Values, Tensor>)
      return values.shape();
    else
      return values.shape;
  }
  /// Returns the length of each sequence, its padding not counted.
  std::vector<int64_t> lengths() const { return lengths_of(shape(), mask.get()); }
  /// Returns 1 for what is in a sequence and 0 for padding, [B, T, 1, …] of the rank of the values,
  /// as losses take their weights.
  Tensor weights() const { return weights_of(shape(), mask.get()); }
};

/// Returns sequences [T_n, …] with `fill` behind the shorter ones. They may differ in T_n alone,
/// which is at least 1. No gradient goes back to them. Throws, naming the sequence, when one has
/// another shape or is empty, and when there is no sequence. PyTorch:
/// nn.utils.rnn.pad_sequence(batch_first=True), which gives no mask.
Padded<Tensor> pad(const std::vector<Tensor>& sequences, Scalar fill = 0);

/// Returns texts of tokens with `fill` behind the shorter ones. A text may be empty; T is at least
/// 1.
Padded<Tokens> pad(const std::vector<std::vector<int32_t>>& sequences, int32_t fill = 0);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
