#pragma once

// The step from gradients to updates. g is the gradient, w the weight, t the number of this update,
// counted from 1. The arithmetic is that of torch.optim, term by term.

#include <variant>
#include <vector>

#include "shiftgrad/nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Stochastic gradient descent with momentum (PyTorch: optim.SGD):
///
///     g += weight_decay w,   b = momentum b + g   (b = g at first),   w -= rate b
struct SGD {
  static constexpr const char* type = "sgd";
  double momentum = 0;
  double weight_decay = 0;
};

/// Adam (Kingma & Ba 2015, algorithm 1; PyTorch: optim.Adam):
///
///     g += weight_decay w
///     m = beta1 m + (1 - beta1) g,   v = beta2 v + (1 - beta2) g²
///     w -= rate / (1 - beta1ᵗ) · m / (√v / √(1 - beta2ᵗ) + eps)
struct Adam {
  static constexpr const char* type = "adam";
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
};

/// Adam with a decay that acts on the weight directly and not through the moments (Loshchilov &
/// Hutter 2019, algorithm 2; PyTorch: optim.AdamW):
///
///     w -= rate weight_decay w,   then as Adam without decay
struct AdamW {
  static constexpr const char* type = "adamw";
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
};

using UpdateRule = std::variant<SGD, Adam, AdamW>;

/// What the optimizer remembers of one parameter. Both moments have its shape and start at 0.
struct Moments {
  /// Number of updates so far. A parameter without a gradient is not updated.
  int64_t updates = 0;
  /// SGD's b or Adam's m; undefined for SGD without momentum.
  Tensor first;
  /// Adam's v; undefined for SGD.
  Tensor second;
};

struct Piece;

/// Applies an update rule to parameters. Weight decay acts only on those with Decay::yes.
class Optimizer {
 public:
  /// Sets up the optimizer. A parameter's learning rate is the step's rate times the parameter's
  /// factor, which is 1 if no factors are given. Throws, naming the setting, when one of the rule
  /// is out of range.
  Optimizer(std::vector<Parameter> parameters, const UpdateRule& rule,
            std::vector<double> learning_rate_factors = {});

  /// Updates every parameter that has a gradient, in place. The bits do not depend on the number
  /// of threads.
  void step(double learning_rate);
  /// Drops all gradients. The next backward pass makes new ones. PyTorch: optimizer.zero_grad().
  void zero_gradients() const;

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// The optimizer's whole state; moments()[n] belongs to parameters()[n].
  const std::vector<Moments>& moments() const { return moments_; }
  /// Continues from saved moments. Throws when they do not fit the parameters.
  void set_moments(std::vector<Moments> moments);

 private:
  void update_piece(const Piece& piece, double learning_rate);

  std::vector<Parameter> parameters_;
  std::vector<Moments> moments_;
  UpdateRule rule_;
  std::vector<double> factors_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
