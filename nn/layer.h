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
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shiftgrad/nn/context.h"
#include "shiftgrad/nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What a layer keeps of the tokens it has seen, for the batch members it has seen them of.
struct State {
  virtual ~State() = default;
  virtual std::unique_ptr<State> clone() const = 0;
  /// Forgets the newest `count` tokens, as if they had not been fed. Throws where older ones that
  /// would come back into sight are gone; those that a limit has cut off stay so without an error.
  virtual void forget_newest(int64_t count) = 0;
  /// Batch member b continues from what was member members[b] until now (for beams).
  virtual void reorder(const std::vector<int64_t>& members) = 0;

  /// The layer that started it, by `Layer::identity`. A clone has to keep it, as a copy does.
  int64_t layer = 0;
};

/// A number of tokens without a bound.
inline constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// Throws, in the name of `layer`, unless x is [B, T, C] and `memory` undefined or [B, M, C].
void check_input(std::string_view layer, const Tensor& x, const Tensor& memory, int64_t C);

/// A mixer, or a block around one.
struct Layer : Module {
  /// What errors call the layer: its type in configs.
  std::string name = "layer";

  /// x [B, T, C] behind `memory` [B, M, C], which may be undefined: the output [B, T, C]. The masks
  /// of the context cover the K = M + T keys; a layer obeys them, or throws. Throws on other shapes
  /// of x and memory, as `check_input` does.
  virtual Tensor forward(const Tensor& x, const Tensor& memory, Context& context) const = 0;

  /// A state that has seen nothing and will keep at most `limit` tokens. A call with it then gives
  /// what `forward` gives behind a memory of the last `limit` tokens that were fed before: older
  /// ones are forgotten, and positions count from the oldest that is kept. (Rotary positions are
  /// counted from the start; their differences are the same.) A layer keeps fewer tokens where it
  /// cannot see as far, and none where sums or hidden states stand for them. In a block each layer
  /// that remembers has that limit.
  virtual std::unique_ptr<State> start(int64_t limit = unlimited) const = 0;

  /// x behind the tokens in `state`, which then holds x too. The weights must not change between
  /// calls. The masks of the context cover the M kept tokens and x; a layer obeys them and the
  /// recorder, or throws where sums or hidden states stand for the tokens. Throws on the state of
  /// another layer, and while a tape records.
  virtual Tensor forward(const Tensor& x, State& state, Context& context) const = 0;

  /// How many tokens a sequence may have from its start on: a bound where positions are absolute
  /// and learned.
  virtual int64_t longest() const { return unlimited; }

  /// How many tokens one pass may see, those in memory and its own: a bound where a learned table
  /// has a row for each position or distance.
  virtual int64_t most_keys() const { return longest(); }

  /// A number of the layer's own, which a copy has too, since it shares the parameters.
  int64_t identity() const { return identity_; }

 protected:
  /// An Own made from `parts`, which knows this layer as its own: what `start` gives.
  template <class Own, class... Parts>
  std::unique_ptr<Own> new_state(Parts&&... parts) const {
    auto state = std::make_unique<Own>(std::forward<Parts>(parts)...);
    state->layer = identity_;
    return state;
  }

  /// The state as the Own that this layer's `new_state` made, for feeding x. Throws, in the layer's
  /// name, on the state of another layer, and where a tape would record.
  template <class Own>
  Own& own_state(State& state, const Tensor& x) const {
    auto* own = dynamic_cast<Own*>(&state);
    require(own && state.layer == identity_, name,
            ": a State of another layer; use the one that start() of this layer gave");
    refuse_recording(x);
    return *own;
  }

  /// Throws, in the layer's name, where a tape would record x or the parameters.
  void refuse_recording(const Tensor& x) const;

 private:
  static int64_t new_identity();

  int64_t identity_ = new_identity();
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
