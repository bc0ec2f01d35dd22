#pragma once

// How a module remembers the tokens that it has seen.

#include <atomic>
#include <cstdint>
#include <functional>
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
  /// Returns a state that goes on from here by itself. Each step works on a clone, so a clone of a
  /// long past should share it.
  virtual std::unique_ptr<State> clone() const = 0;
  /// Becomes what a clone of this state has become.
  virtual void assign(State&& other) = 0;
  /// Forgets the newest `count` tokens, as if they had not been fed. Throws if older tokens that
  /// would be visible again are gone. Tokens cut off by a limit stay cut off, without an error.
  virtual void forget_newest(int64_t count) = 0;
  /// Makes batch member b continue from what was member members[b] until now (for beam search).
  virtual void reorder(const std::vector<int64_t>& members) = 0;

  /// Identity of the module that started this state (`StatefulModule::identity`). A clone must keep
  /// it, as a copy does.
  int64_t owner = 0;
};

/// A state that is cloned by copying it. A state of your own derives from it:
///
///     struct Sums : StateOf<Sums> { … };
template <class Own, class Base = State>
struct StateOf : Base {
  std::unique_ptr<State> clone() const override {
    return std::make_unique<Own>(static_cast<const Own&>(*this));
  }
  void assign(State&& other) override {
    static_cast<Own&>(*this) = static_cast<Own&&>(std::move(other));
  }
};

/// A state as a value, or none: a copy is a clone. States made of other states hold them so.
struct StateValue : std::unique_ptr<State> {
  StateValue() = default;
  StateValue(std::unique_ptr<State> state) : unique_ptr(std::move(state)) {}
  StateValue(const StateValue& other) : unique_ptr(other ? other->clone() : nullptr) {}
  StateValue(StateValue&&) = default;
  StateValue& operator=(StateValue other) {
    swap(other);
    return *this;
  }
};

/// The states of a module's parts, and the number of tokens fed to it.
struct States : StateOf<States> {
  std::vector<StateValue> parts{};
  int64_t position = 0;

  void forget_newest(int64_t count) override;
  void reorder(const std::vector<int64_t>& members) override;
};

/// Returns the members of a batch [B, …] in this order. An undefined x stays undefined.
Tensor members_of(const Tensor& x, const std::vector<int64_t>& members);

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

  /// Returns step(next), where `next` is a clone of this module's own state, and then makes the
  /// state what `next` has become. So a step that throws leaves the state as it was. Throws, in the
  /// module's name, on the state of another module, and where a tape would record the parameters or
  /// x.
  Tensor advance(State& state, const Tensor& x, const std::function<Tensor(State&)>& step) const;

 private:
  static inline std::atomic<int64_t> modules_ = 0;  // made so far

  int64_t identity_ = ++modules_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
