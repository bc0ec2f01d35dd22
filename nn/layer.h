#pragma once

// A layer over sequences: a mixer, which lets the tokens see each other (attention in any form, the
// attention free transformer, a local recurrent net), or a block around one. All share one
// interface, and have two ways to remember:
//
//   memory  the layer inputs of earlier tokens, a constant [B, M, C]. Keys and values are made from
//           it anew at each call, so it outlives an update of the weights: training uses it.
//   State   whatever a variant needs of earlier tokens under fixed weights: cached keys and values,
//           running sums, hidden states. Evaluation and generation use it.
//
// Either way, feeding a causal sequence in pieces gives the same result as one pass over it.

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

/// What a layer keeps of the tokens it has seen, for each member of the batch.
struct State {
  virtual ~State() = default;
  virtual std::unique_ptr<State> clone() const = 0;
  /// Forgets the newest `count` tokens, as if they had not been fed. Throws if older tokens that
  /// would be visible again are gone. Tokens cut off by a limit stay cut off, without an error.
  virtual void forget_newest(int64_t count) = 0;
  /// Makes batch member b continue from what was member members[b] until now (for beam search).
  virtual void reorder(const std::vector<int64_t>& members) = 0;

  /// Identity of the layer that started this state (`Layer::identity`). A clone must keep it, as a
  /// copy does.
  int64_t layer = 0;
};

/// A token limit that is no limit.
inline constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// Throws, in the name of `layer`, unless x is [B, T, C] and `memory` undefined or [B, M, C].
void check_input(std::string_view layer, const Tensor& x, const Tensor& memory, int64_t C);

/// A mixer, or a block around one.
struct Layer : Module {
  /// The layer's name in errors, which is its type in configs.
  std::string name = "layer";

  /// Returns the output [B, T, C] for x [B, T, C] after `memory` [B, M, C], which may be undefined.
  /// The masks of the context cover the K = M + T keys; a layer obeys them or throws. Throws on
  /// other shapes of x and memory, as `check_input` does.
  virtual Tensor forward(const Tensor& x, const Tensor& memory, Context& context) const = 0;

  /// Returns a state that has seen nothing and will keep at most `limit` tokens. A call with it
  /// gives what `forward` gives with a memory of the last `limit` tokens fed before. Older tokens
  /// are forgotten, and positions count from the oldest token kept. (Rotary positions count from
  /// the start; their differences are the same.) A layer keeps fewer tokens if it cannot see that
  /// far, and none if sums or hidden states stand for them. In a block, the limit holds for each
  /// layer that remembers.
  virtual std::unique_ptr<State> start(int64_t limit = unlimited) const = 0;

  /// Returns the output [B, T, C] for x after the tokens in `state`, and adds x to the state. The
  /// weights must not change between calls. The masks of the context cover the M kept tokens and x.
  /// A layer obeys the masks and the recorder, or throws where sums or hidden states stand for the
  /// tokens. Throws on the state of another layer, and while a tape records.
  virtual Tensor forward(const Tensor& x, State& state, Context& context) const = 0;

  /// The largest number of tokens in a sequence, counted from its start. It is bounded where
  /// positions are absolute and learned.
  virtual int64_t longest() const { return unlimited; }

  /// The largest number of tokens that one pass may see, memory included. It is bounded where a
  /// learned table has a row for each position or distance.
  virtual int64_t most_keys() const { return longest(); }

  /// Number that identifies this layer. A copy has the same number, since it shares the parameters.
  int64_t identity() const { return identity_; }

 protected:
  /// Returns an Own made from `parts` and marked as this layer's state. `start` returns this.
  template <class Own, class... Parts>
  std::unique_ptr<Own> new_state(Parts&&... parts) const {
    auto state = std::make_unique<Own>(std::forward<Parts>(parts)...);
    state->layer = identity_;
    return state;
  }

  /// Returns the state as the Own that this layer's `new_state` made, ready to be fed x. Throws, in
  /// the layer's name, on the state of another layer, and where a tape would record.
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
