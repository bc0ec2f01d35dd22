#include "ops/softmax_row.h"

#include <algorithm>
#include <cmath>

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr Scalar none = SoftmaxRow().greatest;

}  // namespace

Scalar SoftmaxRow::raise(const Scalar* x, int64_t length) {
  Scalar seen = length > 0 ? simd::maximum(x, length) : none;
  if (seen <= greatest) return 1;  // but not where it is NaN
  Scalar kept = greatest == none ? 1 : std::exp(greatest - seen);
  greatest = seen;
  total *= kept;
  return kept;
}

void SoftmaxRow::add(Scalar* x, int64_t length) { total += make_again(x, length); }

Scalar SoftmaxRow::make_again(Scalar* x, int64_t length) const {
  if (greatest != none) return simd::exp_below(x, greatest, x, length);
  std::fill_n(x, length, Scalar{0});
  return 0;
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
