#pragma once

// The two passes of attention's kernel, and what the one leaves to the other.

#include "ops/attention.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What the forward pass leaves to the backward pass.
struct AttentionRecord {
  Tensor y;             // [B, H, T, E]
  Tensor rows;          // [B, H, T, 2], each a SoftmaxRow; undefined without a backward pass
  Tensor exponentials;  // [B, H, T, K], e^(score - greatest); undefined where they are made again
  Tensor parameters;    // of the score function, in dense rows
};

/// Computes record.y, and the others where they are defined.
void attention_forward(const RelativeAttention& attention, const AttentionRecord& record);

/// Adds to the gradients of all inputs, given the gradient of y, which lies in memory as y does.
void attention_backward(const RelativeAttention& attention, const AttentionRecord& record,
                        const Tensor& dy);

/// Whether queries, with their position_bias, meet rows by position: position_rows or clipped_keys.
inline bool meets_positions(const RelativeAttention& a) {
  return a.position_rows.defined() || a.clipped_keys.defined();
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
