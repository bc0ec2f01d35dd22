#pragma once

// One update of all parameters, by any update rule.

#include <vector>

#include "nn/module.h"
#include "optim/update_rules.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What the optimizer remembers of one parameter. Both moments have its shape and start at 0.
struct Moments {
  /// Number of updates so far. A parameter without a gradient is not updated.
  int64_t updates = 0;
  /// SGD's b or Adam's m; undefined for SGD without momentum.
  Tensor first{};
  /// Adam's v; undefined for SGD.
  Tensor second{};
};

/// Applies an update rule to parameters. Weight decay acts only on those with Decay::yes.
class Optimizer {
 public:
  /// Sets up the optimizer. A parameter's learning rate is the step's rate times the parameter's
  /// factor, which is 1 if no factors are given. Throws, naming the setting, when one of the rule
  /// or a factor is out of range, when there is no parameter, and, naming both, when two parameters
  /// share an element.
  Optimizer(std::vector<Parameter> parameters, const UpdateRule& rule,
            std::vector<double> learning_rate_factors = {});

  /// Updates every parameter that has a gradient, in place. The bits do not depend on the number
  /// of threads. Throws, and changes nothing, when the rate of a parameter is less than 0 or not
  /// finite.
  void step(double learning_rate);
  /// Drops all gradients. The next backward pass makes new ones. PyTorch: optimizer.zero_grad().
  void zero_gradients() const;

  /// The parameters that it updates.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// The optimizer's whole state; moments()[n] belongs to parameters()[n].
  const std::vector<Moments>& moments() const { return moments_; }
  /// Continues from saved moments. Throws when they do not fit the parameters.
  void set_moments(std::vector<Moments> moments);

 private:
  std::vector<Parameter> parameters_;
  std::vector<Moments> moments_;
  UpdateRule rule_;
  std::vector<double> factors_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
