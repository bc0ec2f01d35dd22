#pragma once

// Sequences of unequal length side by side.
//
//     Padded<Tensor> batch = pad(series);                     // batch.values [B, T, C]
//     context.key_padding_mask = batch.mask;                  // nobody attends to padding
//     Tensor loss = mse_loss(y, target, {batch.weights()});   // nor does it count

#include <memory>
#include <vector>

#include "core/array.h"
#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Sequences, each filled up to the length of the longest. Values is Tensor or Tokens.
template <class Values>
struct Padded {
  Values values;                       ///< [B, T, …]
  std::shared_ptr<const Mask> mask{};  ///< [B, T], true = padding; null if there is none

  /// Returns the length of each sequence, its padding not counted.
  std::vector<int64_t> lengths() const;
  /// Returns 1 for what is in a sequence and 0 for padding, [B, T, 1, …] of the rank of the values,
  /// as losses take their weights.
  Tensor weights() const;
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
