#include "nn/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/checked.h"
#include "core/errors.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The cost of a parameter besides its values, counted in values, so that small parameters are not
/// free.
constexpr int64_t cost_of_one = 1000;
/// The room that is always allowed, so that the error of a small model names the missing tensor.
constexpr int64_t spare = 1'000'000;

/// Returns a tensor of memory that is never touched, and that no cache keeps.
Tensor untouched(const Dims& shape) {
  Layout layout = Layout::contiguous(shape);
  std::shared_ptr<Scalar[]> memory(new Scalar[static_cast<size_t>(layout.count())]);
  return Tensor::over(memory.get(), layout, memory);
}

/// Returns a parameter without values.
Tensor unfilled_parameter(const Dims& shape, Init values) {
  if (values.unfilled) values.unfilled->add(shape);
  bool is_filled_later = !values.unfilled || values.unfilled->is_filled;
  return (is_filled_later ? Tensor::empty(shape) : untouched(shape)).require_gradient();
}

/// Returns a parameter of the values of(number) of the random numbers that `draw`, called with a
/// sequence of them, fills a span with, unless it is to have none yet. Any thread can draw any part
/// of the sequence.
Tensor drawn_parameter(const Dims& shape, Init values, auto draw, auto of) {
  Tensor result = unfilled_parameter(shape, values);
  if (values.unfilled) return result;
  Scalar* place = result.mutable_data();
  constexpr int64_t grain = 1 << 10;
  parallel_ranges(result.count(), grain, [&](int64_t begin, int64_t end) {
    std::array<double, grain> numbers;
    std::span drawn = std::span(numbers).first(static_cast<size_t>(end - begin));
    Random random = *values.random;
    random.counter += static_cast<uint64_t>(begin);
    draw(random, drawn);
    std::transform(drawn.begin(), drawn.end(), place + begin,
                   [&](double number) { return static_cast<Scalar>(of(number)); });
  });
  values.random->counter += static_cast<uint64_t>(result.count());
  return result;
}

}  // namespace

Tensor normal_parameter(const Dims& shape, Init values, double deviation) {
  require(deviation >= 0 && std::isfinite(deviation), "normal_parameter: deviation ", deviation,
          ", expected at least 0");
  return drawn_parameter(
      shape, values, [](Random& random, std::span<double> numbers) { random.normal(numbers); },
      [&](double number) { return deviation * number; });
}

Tensor uniform_parameter(const Dims& shape, Init values, double reach) {
  require(reach >= 0 && std::isfinite(reach), "uniform_parameter: reach ", reach,
          ", expected at least 0");
  return drawn_parameter(
      shape, values, [](Random& random, std::span<double> numbers) { random.uniform(numbers); },
      [&](double number) { return reach * (2 * number - 1); });
}

Tensor constant_parameter(const Dims& shape, Scalar value, Init values) {
  Tensor result = unfilled_parameter(shape, values);
  if (!values.unfilled) std::fill_n(result.mutable_data(), result.count(), value);
  return result;
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
