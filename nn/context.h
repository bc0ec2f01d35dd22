#pragma once

#include <functional>
#include <memory>

#include "shiftgrad/core/array.h"
#include "shiftgrad/core/errors.h"
#include "shiftgrad/core/random.h"
#include "shiftgrad/ops/dropout.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What a call of a module needs besides its data. Each thread has its own; modules are const.
struct Context {
  /// Dropout acts in training only.
  bool training = false;
  /// Gives each dropout a stream of its own, so that a run is repeatable from its seed.
  Random random{};
  /// The number of the batch's first member, where the batch is a part of a larger one: each member
  /// has dropout by its number in the whole.
  int64_t first_member = 0;
  /// [B, K], true = padding, never attended.
  std::shared_ptr<const Mask> key_padding_mask{};
  /// [T, K] or [B, T, K], true = hidden; 1 for B or T broadcasts.
  std::shared_ptr<const Mask> attention_mask{};
  /// When set, receives every attention layer's probabilities [B, H, T, K], before dropout, and
  /// AFT's weights [B, T, K, C].
  std::function<void(const Tensor& probabilities)> recorder{};

  /// What the next dropout drops: nothing but in training.
  DropoutPattern dropout_pattern(double rate) {
    if (!training || rate <= 0) return {};
    return {random.seed, random.next_stream(), rate, first_member};
  }

  /// x, or in training x with some elements dropped.
  Tensor drop(const Tensor& x, double rate) { return dropout(x, dropout_pattern(rate)); }

  /// The same for an x that all members of the batch share.
  Tensor drop_shared(const Tensor& x, double rate) {
    DropoutPattern pattern = dropout_pattern(rate);
    pattern.first_row = 0;
    return dropout(x, pattern);
  }

  /// residual + drop(x, rate)
  Tensor add_dropped(const Tensor& residual, const Tensor& x, double rate) {
    return shiftgrad::add_dropped(residual, x, dropout_pattern(rate));
  }

  /// Throws, in the name of `layer`, when there is a mask: for layers that have no keys to hide.
  void refuse_masks(const char* layer) const {
    require(!key_padding_mask, layer, ": takes no key_padding_mask");
    require(!attention_mask, layer, ": takes no attention_mask");
  }
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
