#include "ops/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/simd.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

void DropoutPattern::factors(int64_t first, int64_t count, Scalar* factors) const {
  // Four numbers a block: element n takes word n mod 4 of block n / 4.
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

Tensor dropout(const Tensor& input, const DropoutPattern& pattern) {
  require(0 <= pattern.rate && pattern.rate < 1, "dropout: a rate of ", pattern.rate,
          ", expected 0 to below 1");
  if (pattern.rate == 0) return input;
  // y = factors ⊙ x + beta y: the forward and the backward pass alike.
  auto drop = [pattern](const Tensor& x, Scalar beta, const Tensor& y) {
    Scalar* out = y.mutable_data();
    parallel_ranges(x.count(), 4096, [&](int64_t begin, int64_t end) {
      std::array<Scalar, 512> factors;
      for (int64_t n = begin; n < end; n += 512) {
        int64_t count = std::min<int64_t>(512, end - n);
        pattern.factors(n, count, factors.data());
        if (beta == 0)
          simd::zip(simd::Binary::multiply, factors.data(), x.data() + n, out + n, count);
        else
          simd::multiply_add(factors.data(), x.data() + n, out + n, count);
      }
    });
  };
  Tensor x = contiguous(input);
  Tensor y = Tensor::empty(x.shape());
  drop(x, 0, y);
  record(y, {&x}, [x, drop](const Tensor& dy) {
    deliver(x.gradient_sink(), [&](const Tensor& dx, Scalar beta) { drop(dy, beta, dx); });
  });
  return y;
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
