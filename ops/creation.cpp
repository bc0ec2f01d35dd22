#include "ops/creation.h"

#include <cmath>
#include <span>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor randn(const Dims& shape, Random& random) {
  Tensor x = Tensor::empty(shape);
  random.normal(std::span(x.mutable_data(), static_cast<size_t>(x.count())));
  return x;
}

Tensor arange(double begin, double end, double step) {
  double steps = (end - begin) / step, count = std::ceil(steps);
  require(step != 0 && 0 <= steps && std::isfinite(steps), "arange: ", begin, " to ", end, " by ",
          step, ", expected numbers, and a step towards the end");
  require(count < 0x1p53, "arange: ", begin, " to ", end, " by ", step, ", which are ", count,
          " numbers, expected fewer");
  Tensor x = Tensor::empty({static_cast<int64_t>(count)});
  for (int64_t n = 0; n < x.count(); ++n)
    x.mutable_data()[n] = static_cast<Scalar>(begin + static_cast<double>(n) * step);
  return x;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
