#include "ops/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "core/random.h"
#include "core/tape.h"
#include "ops/arithmetic.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

void DropoutPattern::factors(int64_t first, int64_t count, Scalar* factors) const {
  // A block has four numbers: element n takes word n mod 4 of block n / 4.
  auto threshold = static_cast<uint64_t>(std::ceil(std::ldexp(rate, 32)));
  Scalar kept = static_cast<Scalar>(1 / (1 - rate));
  std::array<PhiloxBlock, 64> blocks;
  for (int64_t n = first; n < first + count;) {
    int64_t begin = n / 4;
    int64_t end = std::min<int64_t>((first + count + 3) / 4, begin + std::ssize(blocks));
    philox(seed, stream, static_cast<uint64_t>(begin), std::span(blocks).first(end - begin));
    for (; n < std::min(first + count, 4 * end); ++n)
      *factors++ = blocks[n / 4 - begin][n % 4] < threshold ? 0 : kept;
  }
}

namespace {

/// y = factors ⊙ x + added, which is null or may be y itself.
void drop(const DropoutPattern& pattern, const Tensor& x, const Scalar* added, const Tensor& y) {
  Scalar* out = y.mutable_data();
  int64_t row = x.rank() == 0 || x.count() == 0 ? 0 : x.count() / x.size(0);
  int64_t first = pattern.first_row * row;
  parallel_ranges(x.count(), 4096, [&](int64_t begin, int64_t end) {
    std::array<Scalar, 512> factors;
    for (int64_t n = begin; n < end; n += 512) {
      int64_t count = std::min<int64_t>(512, end - n);
      pattern.factors(first + n, count, factors.data());
      if (!added) {
        simd::zip(simd::Binary::multiply, factors.data(), x.data() + n, out + n, count);
        continue;
      }
      if (added != out) std::copy(added + n, added + n + count, out + n);
      simd::multiply_add(factors.data(), x.data() + n, out + n, count);
    }
  });
}

/// Passes the gradient on, dropped as the values were.
void drop_gradient(const DropoutPattern& pattern, const Tensor& x, const Tensor& dy) {
  deliver(x.gradient_sink(), [&](const Tensor& dx, Scalar beta) {
    drop(pattern, dy, beta == 0 ? nullptr : dx.data(), dx);
  });
}

void check_rate(const char* operation, double rate) {
  require(0 <= rate && rate < 1, operation, ": a rate of ", rate, ", expected 0 to below 1");
}

}  // namespace

Tensor dropout(const Tensor& input, const DropoutPattern& pattern) {
  require_defined("dropout", "x", input);
  check_rate("dropout", pattern.rate);
  if (pattern.rate == 0) return input;
  Tensor x = contiguous(input), y = Tensor::empty(x.shape());
  drop(pattern, x, nullptr, y);
  record(y, {&x}, [x, pattern](const Tensor& dy) { drop_gradient(pattern, x, dy); });
  return y;
}

Tensor add_dropped(const Tensor& residual, const Tensor& input, const DropoutPattern& pattern) {
  require_defined("add_dropped", "residual", residual, "x", input);
  check_rate("add_dropped", pattern.rate);
  require(residual.shape() == input.shape(), "add_dropped: ", residual.shape(), " and ",
          input.shape(), ", expected equal shapes");
  if (pattern.rate == 0) return add(residual, input);
  Tensor r = contiguous(residual), x = contiguous(input), y = Tensor::empty(x.shape());
  drop(pattern, x, r.data(), y);
  record(y, {&r, &x}, [r, x, pattern](const Tensor& dy) {
    accumulate(r.gradient_sink(), dy);
    drop_gradient(pattern, x, dy);
  });
  return y;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
