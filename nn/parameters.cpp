#include "nn/parameters.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

thread_local UnfilledParameters* unfilled = nullptr;
thread_local bool filled = true;

/// The cost of a parameter besides its values, counted in values, so that small parameters are not
/// free.
constexpr int64_t cost_of_one = 1000;
/// The room that is always allowed, so that the error of a small model names the missing tensor.
constexpr int64_t spare = 1'000'000;

/// Returns a parameter of values that `draw` returns one by one, if it is to have values.
Tensor parameter(const Dims& shape, auto draw) {
  if (unfilled) unfilled->add(shape);
  Tensor result = Tensor::empty(shape);
  if (filled) std::generate_n(result.mutable_data(), result.count(), draw);
  return result.require_gradient();
}

}  // namespace

Tensor normal_parameter(const Dims& shape, Random& random, double deviation) {
  return parameter(shape, [&] { return static_cast<Scalar>(deviation * random.normal()); });
}

Tensor uniform_parameter(const Dims& shape, Random& random, double reach) {
  return parameter(shape, [&] { return static_cast<Scalar>(reach * (2 * random.uniform() - 1)); });
}

Tensor constant_parameter(const Dims& shape, Scalar value) {
  return parameter(shape, [value] { return value; });
}

bool parameters_are_filled() { return filled; }

UnfilledParameters::UnfilledParameters()
    : outer_(unfilled), outer_filled_(filled), room_(std::numeric_limits<int64_t>::max()) {
  unfilled = this;
  filled = false;
}

UnfilledParameters::UnfilledParameters(const std::map<std::string, StoredTensor>& weights)
    : UnfilledParameters() {
  for (const auto& [name, tensor] : weights)
    given_ += static_cast<int64_t>(tensor.bytes.size()) / size_of(tensor.dtype);
  room_ = 2 * (given_ + cost_of_one * std::ssize(weights)) + spare;
}

UnfilledParameters::~UnfilledParameters() {
  unfilled = outer_;
  filled = outer_filled_;
}

void UnfilledParameters::add(const Dims& shape) {
  int64_t count = byte_count(DType::u8, shape);  // one byte each
  require(count <= room_ - cost_of_one, "the config asks for more parameters than the ", given_,
          " values that are there, the next one being ", shape);
  room_ -= count + cost_of_one;
}

UnfilledParameters::Pause::Pause() : outer_(filled) { filled = true; }

UnfilledParameters::Pause::~Pause() { filled = outer_; }

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
