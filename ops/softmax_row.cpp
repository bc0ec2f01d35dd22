#include "ops/softmax_row.h"

#include <algorithm>
#include <cmath>

#include "core/machine/simd.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

constexpr Scalar not_a_number = std::numeric_limits<Scalar>::quiet_NaN();
constexpr Scalar none = SoftmaxRow().greatest;

/// Whether a row with this greatest score has no probabilities but NaN.
bool is_spoilt(Scalar greatest) { return !std::isfinite(greatest) && greatest != none; }

/// Sets the e^… of such a row: NaN, but 0 where a key is hidden. Returns their sum.
Scalar spoil(Scalar* x, int64_t length) {
  std::transform(x, x + length, x,
                 [](Scalar score) { return score == none ? Scalar{0} : not_a_number; });
  return not_a_number;
}

}  // namespace

Scalar SoftmaxRow::raise(Scalar seen) {
  if (seen <= greatest || std::isnan(greatest)) return 1;  // a NaN stays, and a new one is taken
  Scalar kept = greatest == none ? 1 : std::exp(greatest - seen);
  greatest = seen;
  total *= kept;
  return kept;
}

bool SoftmaxRow::is_usual() const { return std::isfinite(greatest); }

void SoftmaxRow::add(Scalar* x, int64_t length) { total += make_again(x, length); }

Scalar SoftmaxRow::make_again(Scalar* x, int64_t length) const {
  if (is_spoilt(greatest)) return spoil(x, length);
  Stretch all{0, length};
  Scalar sum = 0;
  if (greatest != none) {
    simd::exp_below(Matrix::row_major(x, 1, length), &all, &greatest, &sum);
    return sum;
  }
  std::fill_n(x, length, Scalar{0});
  return 0;
}

Scalar softmax_below(const Scalar* x, Scalar greatest, Scalar* y, int64_t length) {
  Scalar total = simd::exp_minus(x, greatest, y, length);
  simd::axpby(1 / total, y, 0, y, length);
  return total;
}

void softmax_row(Scalar* y, int64_t length) {
  Scalar greatest = length > 0 ? simd::maximum(y, length) : none;
  if (greatest == none) {
    std::fill_n(y, length, Scalar{0});
    return;
  }
  if (is_spoilt(greatest)) return void(spoil(y, length));
  softmax_below(y, greatest, y, length);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
