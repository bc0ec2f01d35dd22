#pragma once

#include <functional>
#include <memory>

#include "core/array.h"
#include "core/errors.h"
#include "core/random.h"
#include "ops/dropout.h"
#include "ops/score_terms.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct Source;

/// What a call of a module needs besides its data. Each thread has its own; modules are const.
struct Context {
  /// Whether this call is part of training. Dropout acts only then.
  bool training = false;
  /// Random numbers for dropout. Each dropout gets a stream of its own, so a run can be repeated
  /// from its seed.
  Random random{};
  /// Index of the batch's first member, where this batch is part of a larger one. The dropout of a
  /// member depends on its index in the whole batch.
  int64_t first_member = 0;
  /// Padding mask [B, K]; true = padding, which is never attended to.
  std::shared_ptr<const Mask> key_padding_mask{};
  /// Attention mask [T, K] or [B, T, K]; true = hidden. A size of 1 for B or T broadcasts.
  std::shared_ptr<const Mask> attention_mask{};
  /// Function that, if set, receives every attention layer's probabilities [B, H, T, K], before
  /// dropout, and AFT's weights [B, T, K, C].
  std::function<void(const Tensor& probabilities)> recorder{};
  /// Function that, if set, may edit the terms of every attention layer's score before its factor,
  /// and of AFT's score for each channel (composed_attention and composed_aft name them).
  TermEditor term_editor{};
  /// What cross-attention attends to. It is null where there is nothing but the layer's own tokens.
  Source* source = nullptr;

  /// Whether the call is about the scores or weights of single keys, which only plain ops compute.
  bool needs_probabilities() const { return recorder || term_editor; }

  /// Returns what the next dropout drops, which is nothing outside training. Throws unless
  /// 0 ≤ rate < 1, whether it trains or not.
  DropoutPattern dropout_pattern(double rate) {
    require(0 <= rate && rate < 1, "dropout: a rate of ", rate, ", expected 0 to below 1");
    if (!training || rate == 0) return {};
    return {random.seed, random.next_stream(), rate, first_member};
  }

  /// Returns x, with some elements dropped in training. PyTorch: functional.dropout(x, rate,
  /// training).
  Tensor drop(const Tensor& x, double rate) { return dropout(x, dropout_pattern(rate)); }

  /// Returns a context of the same call for other tokens: with random numbers of its own, and with
  /// this padding mask in the place of all masks.
  Context with_padding(const std::shared_ptr<const Mask>& padding) {
    Context own = *this;
    own.random = {.seed = random.seed, .stream = random.next_stream()};
    own.key_padding_mask = padding;
    own.attention_mask = nullptr;
    return own;
  }

  /// Throws an error that names `layer` when there is a mask. Layers that have no keys to hide call
  /// this.
  void refuse_masks(const char* layer) const {
    require(!key_padding_mask, layer, ": takes no key_padding_mask");
    require(!attention_mask, layer, ": takes no attention_mask");
  }
};

/// The tokens [B, S, C] that cross-attention attends to, and the context in which it does.
struct Source {
  /// The encoder's output.
  Tensor output{};
  /// The call's context for the source, with its padding.
  Context context{};
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
