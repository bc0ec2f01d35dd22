#include "nn/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "nn/parameter_budget.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr int64_t grain = 1 << 10;

/// Returns a parameter that has no values yet.
Tensor unfilled_parameter(const Dims& shape, Init init) {
  Tensor place = init.unfilled ? init.unfilled->place_for(shape) : Tensor::empty(shape);
  return place.require_gradient();
}

/// Returns a parameter whose element n is number n of a random sequence, unless it is to have no
/// values yet. `draw(random, part)` fills a part from a place of the sequence on, so threads can
/// share it.
Tensor drawn_parameter(const Dims& shape, Init init, auto draw) {
  Tensor result = unfilled_parameter(shape, init);
  if (init.unfilled) return result;
  std::span values(result.mutable_data(), static_cast<size_t>(result.count()));
  parallel_ranges(result.count(), grain, [&](int64_t begin, int64_t end) {
    Random random = *init.random;
    random.counter += static_cast<uint64_t>(begin);
    draw(random, values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  });
  init.random->counter += static_cast<uint64_t>(result.count());
  return result;
}

}  // namespace

Tensor normal_parameter(const Dims& shape, Init init, double deviation) {
  require(deviation >= 0 && std::isfinite(deviation), "normal_parameter: deviation ", deviation,
          ", expected at least 0");
  return drawn_parameter(
      shape, init, [&](Random& random, std::span<Scalar> part) { random.normal(part, deviation); });
}

Tensor uniform_parameter(const Dims& shape, Init init, double reach) {
  require(reach >= 0 && std::isfinite(reach), "uniform_parameter: reach ", reach,
          ", expected at least 0");
  return drawn_parameter(shape, init, [&](Random& random, std::span<Scalar> part) {
    std::array<double, grain> numbers;
    std::span drawn = std::span(numbers).first(part.size());
    random.uniform(drawn);
    std::transform(drawn.begin(), drawn.end(), part.begin(),
                   [&](double number) { return static_cast<Scalar>(reach * (2 * number - 1)); });
  });
}

Tensor constant_parameter(const Dims& shape, Scalar value, Init init) {
  Tensor result = unfilled_parameter(shape, init);
  if (!init.unfilled) std::fill_n(result.mutable_data(), result.count(), value);
  return result;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
