#include "ops/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/tape.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/reduce.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

double gradient_check(const std::function<Tensor()>& f, const std::vector<Tensor>& inputs,
                      std::optional<double> given_step) {
  // The errors of rounding, ε / step, and of the quotient, step⁴, are alike unless it is given.
  const double step = given_step.value_or(std::pow(std::numeric_limits<Scalar>::epsilon(), 0.2));
  require(step > 0 && std::isfinite(step), "gradient_check: step ", step, ", expected more than 0");
  for (const Tensor& x : inputs) {
    require_defined("gradient_check", "an input", x);
    require(x.is_contiguous(), "gradient_check: an input ", x.shape(), ", expected a dense one");
    x.require_gradient().zero_gradient();
  }
  Tape tape;
  Tensor y = f();
  Random random{.seed = 1};
  Tensor c = randn(y.shape(), random);
  tape.backward(y, c);
  Tape::Pause pause;
  double worst = 0;
  for (const Tensor& x : inputs) {
    accumulate(x.open_gradient(), Tensor::zeros(x.shape()));  // if f does not depend on x
    for (int64_t n = 0; n < x.count(); ++n) {
      Scalar* element = x.mutable_data() + n;
      const Scalar value = *element;
      auto at = [&](int steps) {
        *element = static_cast<Scalar>(static_cast<double>(value) + steps * step);
        return static_cast<double>(sum(f() * c).item());
      };
      double quotient = difference_quotient(at, step);
      *element = value;
      double error = std::abs(quotient - static_cast<double>(x.gradient().data()[n])) /
                     (1 + std::abs(quotient));
      worst = std::isnan(error) ? error : std::max(worst, error);
    }
  }
  return worst;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
