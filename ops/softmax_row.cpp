#include "ops/softmax_row.h"

#include <algorithm>
#include <limits>

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();

/// Divides y by the total, or sets it to 0 where the row has no key.
void finish_row(const SoftmaxRow& row, Scalar* y, int64_t length) {
  if (row.greatest == -infinity)
    std::fill_n(y, length, Scalar{0});
  else
    simd::axpby(1 / row.total, y, 0, y, length);
}

}  // namespace

SoftmaxRow softmax_row(Scalar* y, int64_t length) {
  SoftmaxRow row{length > 0 ? simd::maximum(y, length) : -infinity, 0};
  if (row.greatest != -infinity) row.total = simd::exp_minus(y, row.greatest, y, length);
  finish_row(row, y, length);
  return row;
}

void softmax_row_again(const SoftmaxRow& row, Scalar* y, int64_t length) {
  if (row.greatest != -infinity) simd::exp_minus(y, row.greatest, y, length);
  finish_row(row, y, length);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
