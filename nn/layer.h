#pragma once

// A layer over sequences: a mixer, which lets the tokens see each other (attention in any form, the
// attention free transformer, a local recurrent net), or a block around one. All have one
// interface, and two ways to remember:
//
//   memory  the layer inputs of earlier tokens, a constant [B, M, C]. Keys and values are made from
//           it anew at each call, so it outlives an update of the weights: training uses it.
//   State   whatever a variant needs of earlier tokens under fixed weights: cached keys and values,
//           running sums, hidden states. Evaluation and generation use it.
//
// Either way a causal sequence fed in pieces gives what one pass gives.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "nn/context.h"
#include "nn/module.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// What a layer keeps of the tokens it has seen, for the batch members it has seen them of.
struct State {
  virtual ~State() = default;
  virtual std::unique_ptr<State> clone() const = 0;
  /// Forgets the newest `count` tokens, as if they had not been fed. Throws where older ones that
  /// would come back into sight are gone; those that a limit has cut off stay so without an error.
  virtual void forget_newest(int64_t count) = 0;
  /// Batch member b continues from what was member members[b] until now (for beams).
  virtual void reorder(const std::vector<int64_t>& members) = 0;
};

/// A number of tokens without a bound.
inline constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// A mixer, or a block around one.
struct Layer : Module {
  /// x [B, T, C] behind `memory` [B, M, C], which may be undefined: the output [B, T, C]. The masks
  /// of the context cover the K = M + T keys.
  virtual Tensor forward(const Tensor& x, const Tensor& memory, Context& context) const = 0;

  /// A state that has seen nothing and will keep at most `limit` tokens (fewer where the variant
  /// cannot see that far).
  virtual std::unique_ptr<State> start(int64_t limit = unlimited) const = 0;

  /// x behind the tokens in `state`, which then holds x too. The weights must not change between
  /// calls; not for recording.
  virtual Tensor forward(const Tensor& x, State& state, Context& context) const = 0;

  /// How many tokens a sequence may have from its start on: a bound where positions are absolute
  /// and learned.
  virtual int64_t longest() const { return unlimited; }

  /// How many tokens one pass may see, those in memory and its own: a bound where a learned table
  /// has a row for each position or distance.
  virtual int64_t most_keys() const { return longest(); }
};

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
