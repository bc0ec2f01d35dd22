#include "ops/softmax_row.h"

#include <algorithm>
#include <cmath>

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr Scalar none = SoftmaxRow().greatest;

}  // namespace

Scalar SoftmaxRow::add(Scalar* x, int64_t length) {
  Scalar seen = length > 0 ? simd::maximum(x, length) : none, kept = 1;
  if (!(seen <= greatest)) {  // also where it is NaN
    if (greatest != none) kept = std::exp(greatest - seen);
    greatest = seen;
  }
  if (greatest == none)
    std::fill_n(x, length, Scalar{0});
  else
    total = kept * total + simd::exp_below(x, greatest, x, length);
  return kept;
}

void SoftmaxRow::make_again(Scalar* x, int64_t length) const {
  if (greatest == none)
    std::fill_n(x, length, Scalar{0});
  else
    simd::exp_below(x, greatest, x, length);
}

void softmax_row(Scalar* y, int64_t length) {
  Scalar greatest = length > 0 ? simd::maximum(y, length) : none;
  if (greatest == none) {
    std::fill_n(y, length, Scalar{0});
    return;
  }
  Scalar total = simd::exp_minus(y, greatest, y, length);
  simd::axpby(1 / total, y, 0, y, length);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
