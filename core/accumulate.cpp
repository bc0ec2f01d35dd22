#include "core/accumulate.h"

#include "core/broadcast_sums.h"
#include "core/errors.h"
#include "core/machine/matrix.h"
#include "core/walk.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void accumulate(Scalar beta, const Tensor& target, const Tensor& source, Scalar alpha) {
  require_defined("accumulate", "the target", target, "the source", source);
  require(target.shape() == source.shape(), "accumulate: a gradient of shape ", source.shape(),
          " for ", target.shape());
  if (target.count() == 0) return;
  Layout to = target.layout(), from = source.layout();
  Scalar* y = target.mutable_data() - to.offset;
  const Scalar* x = source.data() - from.offset;
  if (to.is_broadcast()) return add_sums(beta, y, to, x, from, alpha);
  Walk<2>({&to, &from}).parallel([&](const auto& run) {
    add_run(alpha, x + run.at[1], run.step[1], beta, y + run.at[0], run.step[0], run.length);
  });
}

void accumulate(const OpenGradient& to, const Tensor& gradient, Scalar alpha) {
  if (to) accumulate(to.beta, to.target, gradient, alpha);
}

Tensor zeroed_target(const OpenGradient& to) {
  if (to && to.beta == 0) {
    Tensor zero = Tensor::zeros({});
    copy_into(to.target, zero.view(zero.layout().expand(to.target.shape())));
  }
  return to.target;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
