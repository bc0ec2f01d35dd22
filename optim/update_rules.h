#pragma once

// The step from gradients to updates. g is the gradient, w the weight, t the number of this update,
// counted from 1. The arithmetic is that of torch.optim, term by term.

#include <cstdint>
#include <variant>

#include "core/field.h"
#include "core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Stochastic gradient descent with momentum (PyTorch: optim.SGD).
///
///     g += weight_decay w,   b = momentum b + g   (b = g at first),   w -= rate b
struct SGD {
  static constexpr const char* type = "sgd";
  /// The share of b that stays.
  double momentum = 0;
  /// The weight's own share of its gradient.
  double weight_decay = 0;

  /// Calls field(value, description) for each setting.
  void fields(auto field) {
    field(momentum, {"momentum", "", quantity::decay});
    field(weight_decay, {"weight_decay", "", quantity::rate});
  }
};

/// Adam, with a decay that goes through the moments or acts on the weight directly.
template <bool decoupled>
struct AdamRule {
  static constexpr const char* type = decoupled ? "adamw" : "adam";
  /// The share of m that stays.
  double beta1 = 0.9;
  /// The share of v that stays.
  double beta2 = 0.999;
  /// What keeps the divisor above 0.
  double eps = 1e-8;
  /// How fast weights shrink.
  double weight_decay = decoupled ? 0.01 : 0;

  /// Calls field(value, description) for each setting.
  void fields(auto field) {
    field(beta1, {"beta1", "", quantity::decay});
    field(beta2, {"beta2", "", quantity::decay});
    field(eps, {"eps", "", quantity::rate});
    field(weight_decay, {"weight_decay", "", quantity::rate});
  }
};

/// Adam (Kingma & Ba 2015, algorithm 1; PyTorch: optim.Adam):
///
///     g += weight_decay w
///     m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g²
///     w -= rate / (1 - beta1ᵗ) · m / (√v / √(1 - beta2ᵗ) + eps)
using Adam = AdamRule<false>;

/// Adam with a decay that acts on the weight directly and not through the moments (Loshchilov &
/// Hutter 2019, algorithm 2; PyTorch: optim.AdamW):
///
///     w -= rate weight_decay w,   then as Adam without decay
using AdamW = AdamRule<true>;

/// Any of the rules, with its settings.
using UpdateRule = std::variant<SGD, Adam, AdamW>;

/// Throws, naming the setting, when one of the rule is out of range.
void check(const UpdateRule& rule);

/// The number of moments that the rule keeps of each weight: none, SGD's b or Adam's m, or Adam's m
/// and v.
int moment_count(const UpdateRule& rule);

/// At most `most` neighbouring elements of a parameter, with their gradient and moments.
struct UpdateBlock {
  static constexpr int64_t most = 1024;  // all that an update touches fits into L1

  /// The elements, which change.
  Scalar* weight;
  /// Their gradient.
  const Scalar* gradient;
  /// SGD's b or Adam's m, null where the rule keeps no such moment.
  Scalar* first;
  /// Adam's v, null where the rule keeps no such moment.
  Scalar* second;
  /// How many there are.
  int64_t count;
};

/// Makes update number t of the block, with weight decay if `decays`.
void update(const UpdateRule& rule, double rate, bool decays, int64_t t, const UpdateBlock& block);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
