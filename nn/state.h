#pragma once

// How a module remembers the tokens that it has seen.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What a layer or a model keeps of the tokens it has seen, for each member of the batch.
struct State {
  virtual ~State() = default;
  /// Returns a state that goes on from here by itself. Models clone the states of their layers at
  /// each step, so a clone of a long past should share it.
  virtual std::unique_ptr<State> clone() const = 0;
  /// Forgets the newest `count` tokens, as if they had not been fed. Throws if older tokens that
  /// would be visible again are gone. Tokens cut off by a limit stay cut off, without an error.
  virtual void forget_newest(int64_t count) = 0;
  /// Makes batch member b continue from what was member members[b] until now (for beam search).
  virtual void reorder(const std::vector<int64_t>& members) = 0;

  /// Identity of the module that started this state (`StatefulModule::identity`). A clone must keep
  /// it, as a copy does.
  int64_t owner = 0;
};

/// A state as a value: a copy is a clone. States made of other states hold them so.
class StateValue {
 public:
  StateValue(std::unique_ptr<State> state) : state_(std::move(state)) {}
  StateValue(const StateValue& other) : state_(other->clone()) {}
  StateValue(StateValue&&) = default;
  StateValue& operator=(StateValue other) {
    state_ = std::move(other.state_);
    return *this;
  }

  State& operator*() const { return *state_; }
  State* operator->() const { return state_.get(); }

 private:
  std::unique_ptr<State> state_;
};

/// A token limit that is no limit.
inline constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

/// A module that starts states and later finds out whether a state is its own.
struct StatefulModule : Module {
  /// The module's name in errors, which is its type in configs.
  std::string name = "layer";

  /// Number that identifies this module. A copy has the same number, since it shares the
  /// parameters.
  int64_t identity() const { return identity_; }

 protected:
  /// Returns an Own made from `parts` and marked as this module's state. `start` returns this.
  template <class Own, class... Parts>
  std::unique_ptr<Own> new_state(Parts&&... parts) const {
    auto state = std::make_unique<Own>(std::forward<Parts>(parts)...);
    state->owner = identity_;
    return state;
  }

  /// Returns the state as the Own that this module's `new_state` made. Throws, in the module's
  /// name, on the state of another module, and where a tape would record the parameters or x.
  template <class Own>
  Own& own_state(State& state, const Tensor& x = {}) const {
    auto* own = dynamic_cast<Own*>(&state);
    require(own && state.owner == identity_, name,
            ": a State of another module; use the one that start() of this module gave");
    refuse_recording(x);
    return *own;
  }

  /// Returns step(past), where `past` is a copy of this module's own state, and then makes the
  /// state what `past` has become. So a step that throws leaves the state as it was. Throws as
  /// `own_state` does.
  template <class Own, class Step>
  Tensor advance(State& state, const Tensor& x, Step step) const {
    Own& own = own_state<Own>(state, x);
    Own past = own;
    Tensor y = step(past);
    own = std::move(past);
    return y;
  }

  /// Throws, in the module's name, where a tape would record the parameters or x.
  void refuse_recording(const Tensor& x = {}) const;

 private:
  static int64_t new_identity();

  int64_t identity_ = new_identity();
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
