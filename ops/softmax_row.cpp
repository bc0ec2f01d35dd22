#include "ops/softmax_row.h"

#include <algorithm>
#include <array>
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

void make_exponentials(const SoftmaxRow* rows, const Stretch* seen, const Matrix& x, Scalar* sums) {
  for (int64_t i = 0; i < x.rows;) {
    std::array<Scalar, 16> shifts;
    int64_t count = 0;  // of rows that are neither hidden nor spoilt
    for (; count < std::ssize(shifts) && i + count < x.rows; ++count) {
      shifts[count] = rows[i + count].greatest;
      if (!std::isfinite(rows[i + count].greatest)) break;
    }
    simd::exp_below(x.rows_from(i, count), seen + i, shifts.data(), sums + i);
    i += count;
    if (count > 0) continue;
    Scalar* scores = &x.at(i, seen[i].begin);
    int64_t length = seen[i].size();
    clear_outside(x, i, seen[i].begin, seen[i].end);
    sums[i] = is_spoilt(rows[i].greatest) ? spoil(scores, length) : 0;
    if (sums[i] == 0) std::fill_n(scores, length, Scalar{0});
    ++i;
  }
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
