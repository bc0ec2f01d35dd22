#include "nn/parameter_budget.h"

#include <cmath>

#include "core/checked.h"
#include "core/errors.h"

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

}  // namespace

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

Tensor ParameterBudget::place_for(const Dims& shape) {
  add(shape);
  return is_filled ? Tensor::empty(shape) : untouched(shape);
}

Init::Init(ParameterBudget& budget) : random(&budget.random), unfilled(&budget) {}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
