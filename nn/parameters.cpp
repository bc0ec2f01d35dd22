#include "nn/parameters.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/checked.h"
#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The cost of a parameter besides its values, counted in values, so that small parameters are not
/// free.
constexpr int64_t cost_of_one = 1000;
/// The room that is always allowed, so that the error of a small model names the missing tensor.
constexpr int64_t spare = 1'000'000;

/// Returns a parameter of values that `draw` returns one by one, unless it is to have none yet.
Tensor parameter(const Dims& shape, Init values, auto draw) {
  if (values.unfilled) values.unfilled->add(shape);
  Tensor result = Tensor::empty(shape);
  if (!values.unfilled) std::generate_n(result.mutable_data(), result.count(), draw);
  return result.require_gradient();
}

}  // namespace

Tensor normal_parameter(const Dims& shape, Init values, double deviation) {
  require(deviation >= 0 && std::isfinite(deviation), "normal_parameter: deviation ", deviation,
          ", expected at least 0");
  return parameter(shape, values,
                   [&] { return static_cast<Scalar>(deviation * values.random->normal()); });
}

Tensor uniform_parameter(const Dims& shape, Init values, double reach) {
  require(reach >= 0 && std::isfinite(reach), "uniform_parameter: reach ", reach,
          ", expected at least 0");
  return parameter(shape, values,
                   [&] { return static_cast<Scalar>(reach * (2 * values.random->uniform() - 1)); });
}

Tensor constant_parameter(const Dims& shape, Scalar value, Init values) {
  return parameter(shape, values, [value] { return value; });
}

ParameterBudget::ParameterBudget(const std::map<std::string, StoredTensor>& weights) {
  int64_t values = 0;
  for (const auto& [name, tensor] : weights)
    values += std::ssize(tensor.bytes) * 8 / bits_of(tensor.dtype);
  *this = ParameterBudget(values, std::ssize(weights));
}

ParameterBudget::ParameterBudget(int64_t values, int64_t tensors)
    : given(values),
      room(saturated_sum(
          saturated_product(2, saturated_sum(values, saturated_product(cost_of_one, tensors))),
          spare)) {
  Within within{"parameters"};
  within({0, HUGE_VAL}, "values", values);
  within({0, HUGE_VAL}, "tensors", tensors);
}

void ParameterBudget::add(const Dims& shape) {
  int64_t count = byte_count(DType::u8, shape);  // one byte each
  require(count <= room - cost_of_one, "the config asks for more parameters than the ", given,
          " values that are there, the next one being ", shape);
  room -= count + cost_of_one;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
