#include "ops/arithmetic.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/softmax.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor log_softmax(const Tensor& x, int64_t axis) {
  require_defined("log_softmax", "x", x);
  axis = normalized_axis("log_softmax", axis, x.rank());
  if (x.size(axis) == 0) return x;
  Tensor below =
      x - maximum(x.detach(), axis, true);  // any number less would do, so it is constant
  return below - log(sum(exp(below), {axis}, true));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
