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

void DropoutPattern::check(const char* operation, const Dims& shape) const {
  require(0 <= rate && rate < 1, operation, ": a dropout rate of ", rate,
          ", expected 0 to below 1");
  require(first_row >= 0, operation, ": a dropout's first_row of ", first_row,
          ", expected at least 0");
  if (first_row == 0 || shape.empty()) return;
  Dims row = shape;
  row[0] = 1;
  int64_t rows = 0, elements = 0;
  require(!__builtin_add_overflow(first_row, shape[0], &rows) &&
              !__builtin_mul_overflow(rows, product(row), &elements),
          operation, ": a dropout's first_row of ", first_row, " of ", shape,
          ", expected fewer elements before it");
}

void DropoutPattern::factors(int64_t first, int64_t count, Scalar* factors) const {
  // A block has four numbers: element n takes word n mod 4 of block n / 4.
  auto last_dropped = static_cast<uint32_t>(std::max(std::ceil(std::ldexp(rate, 32)), 1.0) - 1);
  Scalar kept = static_cast<Scalar>(1 / (1 - rate)), dropped = rate > 0 ? 0 : kept;
  std::array<PhiloxBlock, 64> blocks;
  std::array<std::array<Scalar, 4>, 64> chosen;
  for (int64_t n = first, stop = first + count; n < stop;) {
    int64_t begin = n / 4, end = std::min<int64_t>((stop + 3) / 4, begin + std::ssize(blocks));
    philox(seed, stream, static_cast<uint64_t>(begin), std::span(blocks).first(end - begin));
    for (int64_t block = 0; block < end - begin; ++block)
      for (int64_t word = 0; word < 4; ++word)
        chosen[block][word] = blocks[block][word] > last_dropped ? kept : dropped;
    int64_t taken = std::min(stop, 4 * end) - n;
    factors = std::copy_n(chosen[0].data() + n % 4, taken, factors);
    n += taken;
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
        simd::zip(simd::Binary::weigh, factors.data(), x.data() + n, out + n, count);
        continue;
      }
      if (added != out) std::copy(added + n, added + n + count, out + n);
      simd::multiply_add(factors.data(), x.data() + n, out + n, count);
    }
  });
}

/// Returns dropout(input), added to the residual if that is defined.
Tensor dropped(const char* operation, const Tensor& residual, const Tensor& input,
               const DropoutPattern& pattern) {
  pattern.check(operation, input.shape());
  if (pattern.rate == 0) return residual.defined() ? add(residual, input) : input;
  Tensor r = residual.defined() ? contiguous(residual) : residual;
  Tensor x = contiguous(input), y = Tensor::empty(x.shape());
  drop(pattern, x, r.defined() ? r.data() : nullptr, y);
  record(y, {&r, &x}, [r, x, pattern](const Tensor& dy) {
    accumulate(r.open_gradient(), dy);
    write_gradient(x.open_gradient(), [&](const Tensor& dx, Scalar beta) {
      drop(pattern, dy, beta == 0 ? nullptr : dx.data(), dx);
    });
  });
  return y;
}

}  // namespace

Tensor dropout(const Tensor& x, const DropoutPattern& pattern) {
  require_defined("dropout", "x", x);
  return dropped("dropout", {}, x, pattern);
}

Tensor add_dropped(const Tensor& residual, const Tensor& x, const DropoutPattern& pattern) {
  require_defined("add_dropped", "residual", residual, "x", x);
  require(residual.shape() == x.shape(), "add_dropped: ", residual.shape(), " and ", x.shape(),
          ", expected equal shapes");
  return dropped("add_dropped", residual, x, pattern);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
