#include "nn/positions.h"

#include <bit>
#include <cmath>

#include "core/errors.h"
#include "core/parallel.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

/// 10000^(-2n/width).
std::vector<double> frequencies(int64_t width) {
  std::vector<double> result;
  for (int64_t n = 0; n < width / 2; ++n)
    result.push_back(std::pow(10000.0, -2.0 * static_cast<double>(n) / static_cast<double>(width)));
  return result;
}

}  // namespace

Tensor sinusoids(const char* layer, const std::vector<int64_t>& positions, int64_t width) {
  require(width % 2 == 0, layer, ": sinusoid positions need an even d_model, not ", width);
  std::vector<double> frequency = frequencies(width);
  int64_t half = width / 2;
  Tensor table = Tensor::empty({static_cast<int64_t>(positions.size()), width});
  Scalar* values = table.mutable_data();
  parallel_ranges(table.size(0), 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t n = 0; n < half; ++n) {
        double angle = static_cast<double>(positions[row]) * frequency[n];
        values[row * width + n] = static_cast<Scalar>(std::sin(angle));
        values[row * width + half + n] = static_cast<Scalar>(std::cos(angle));
      }
  });
  return table;
}

Tensor rotate(const Tensor& x, int64_t first) {
  int64_t T = x.size(2), D = x.size(3), half = D / 2;
  std::vector<double> frequency = frequencies(D);
  Tensor sine = Tensor::empty({T, half}), cosine = Tensor::empty({T, half});
  for (int64_t i = 0; i < T; ++i)
    for (int64_t n = 0; n < half; ++n) {
      double angle = static_cast<double>(first + i) * frequency[n];
      sine.mutable_data()[i * half + n] = static_cast<Scalar>(std::sin(angle));
      cosine.mutable_data()[i * half + n] = static_cast<Scalar>(std::cos(angle));
    }
  Tensor low = slice(x, 3, 0, half), high = slice(x, 3, half, D);
  return concat({low * cosine - high * sine, high * cosine + low * sine}, 3);  // [B, H, T, D]
}

std::vector<double> alibi_slopes(int64_t heads) {
  auto slope = [](int64_t h, int64_t of) {
    return std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(of));
  };
  auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<double> slopes;
  for (int64_t h = 0; h < power; ++h) slopes.push_back(slope(h, power));
  for (int64_t h = power; h < heads; ++h) slopes.push_back(slope(2 * (h - power), 2 * power));
  return slopes;
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
