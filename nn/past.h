#pragma once

#include "nn/state.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What the tokens of a call come after: nothing, a memory or a state. Either of them converts to a
/// past; an undefined memory is nothing.
class Past {
 public:
  Past() = default;
  Past(const Tensor& memory) : memory_(memory) {}
  Past(State& state) : state_(&state) {}

  /// The memory [B, M, C], undefined if there is none.
  const Tensor& memory() const { return memory_; }
  /// The state, null if there is none.
  State* state() const { return state_; }
  /// The state as the type that the layer's `start` made, null if there is none.
  template <class Own>
  Own* state() const {
    return state_ ? &dynamic_cast<Own&>(*state_) : nullptr;
  }

 private:
  Tensor memory_{};
  State* state_ = nullptr;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
