#include "nn/positions.h"

#include <bit>
#include <cmath>
#include <numeric>

#include "core/accumulate.h"
#include "core/checked.h"
#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/concat.h"
#include "ops/shape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Tensor sinusoids(const char* layer, const std::vector<int64_t>& positions, int64_t width) {
  require(width % 2 == 0, layer, ": sinusoid positions need an even d_model, not ", width);
  Within{layer}({0, range::channels.greatest}, "width of sinusoid positions", width);
  int64_t half = width / 2;
  std::vector<double> frequency;  // 10000^(-2n/width)
  for (int64_t n = 0; n < half; ++n)
    frequency.push_back(
        std::pow(10000.0, -2.0 * static_cast<double>(n) / static_cast<double>(width)));
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

Tensor sinusoids(const char* layer, int64_t first, int64_t count, int64_t width) {
  Within within{layer};
  within({-range::steps.greatest, range::steps.greatest}, "first position", first);
  within(range::steps, "positions", count);
  std::vector<int64_t> positions;
  within_memory([&] { positions.resize(count); }, layer, ": ", count, " positions");
  std::iota(positions.begin(), positions.end(), first);
  return sinusoids(layer, positions, width);
}

int64_t distance_count(const char* layer, int64_t farthest, int64_t nearest) {
  constexpr Range known{-range::steps.greatest, range::steps.greatest};
  Within within{layer};
  within(known, "farthest distance", farthest);
  within(known, "nearest distance", nearest);
  return std::max<int64_t>(0, farthest - nearest + 1);
}

std::vector<int64_t> distances_between(const char* layer, int64_t farthest, int64_t nearest) {
  int64_t count = distance_count(layer, farthest, nearest);
  std::vector<int64_t> distances;
  within_memory([&] { distances.resize(count); }, layer, ": ", count, " distances");
  for (int64_t& distance : distances) distance = farthest--;
  return distances;
}

Tensor last_rows(const Tensor& table, int64_t count, const Tensor& farther) {
  require_defined("last_rows", "table", table);
  int64_t rows = table.rank() > 0 ? table.size(0) : 0;
  require(table.rank() > 0 && count >= 0 && (count <= rows || rows > 0 || farther.defined()),
          "last_rows: ", count, " rows of ", table.shape(),
          ", expected at least 0 and one that can stand for those it lacks");
  if (count <= rows) return slice(table, 0, rows - count, rows);
  Dims lacking = table.shape();
  lacking[0] = count - rows;
  return concat({expand(farther.defined() ? farther : slice(table, 0, 0, 1), lacking), table}, 0);
}

namespace {

/// Computes y = beta y + x rotated, for x [B, H, T, D], the sinusoids [T, D] of its positions, and
/// a contiguous y. A `direction` of -1 rotates back.
void add_rotated(const Tensor& x, const Tensor& sinusoids, Scalar direction, Scalar beta,
                 const Tensor& y) {
  const Dims &shape = x.shape(), &strides = x.layout().strides;
  int64_t H = shape[1], T = shape[2], half = shape[3] / 2;
  Scalar* out = y.mutable_data();
  auto put = [beta](Scalar& to, Scalar value) { to = (beta == 0 ? 0 : beta * to) + value; };
  parallel_ranges(shape[0] * H * T, 64, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t b = row / (H * T), h = row / T % H, i = row % T;
      const Scalar* from = x.data() + b * strides[0] + h * strides[1] + i * strides[2];
      const Scalar *sine = sinusoids.data() + i * 2 * half, *cosine = sine + half;
      Scalar* to = out + row * 2 * half;
      for (int64_t n = 0; n < half; ++n) {
        Scalar low = from[n * strides[3]], high = from[(half + n) * strides[3]];
        put(to[n], low * cosine[n] - direction * high * sine[n]);
        put(to[half + n], high * cosine[n] + direction * low * sine[n]);
      }
    }
  });
}

void check_rotated(const Tensor& x) {
  require_defined("rotate", "x", x);
  require(x.rank() == 4 && x.size(3) % 2 == 0, "rotate: x ", x.shape(),
          ", expected [B, H, T, D] with an even D");
}

}  // namespace

Tensor rotate(const Tensor& x, int64_t first) {
  check_rotated(x);
  return rotate(x, sinusoids("rotate", first, x.size(2), x.size(3)));
}

Tensor rotate(const Tensor& x, const Tensor& table) {
  check_rotated(x);
  Dims rows = {x.size(2), x.size(3)};
  require(table.defined() && table.shape() == rows && table.is_contiguous(), "rotate: sinusoids ",
          table.shape(), ", expected ", rows, " without gaps");
  Tensor y = Tensor::empty(x.shape());
  add_rotated(x, table, 1, 0, y);
  record(y, {&x}, [x, table](const Tensor& dy) {
    write_gradient(x.open_gradient(),
                   [&](const Tensor& dx, Scalar beta) { add_rotated(dy, table, -1, beta, dx); });
  });
  return y;
}

std::vector<double> alibi_slopes(int64_t heads) {
  Within{"alibi_slopes"}({0, range::channels.greatest}, "heads", heads);
  auto slope = [](int64_t h, int64_t of) {
    return std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(of));
  };
  auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<double> slopes;
  for (int64_t h = 0; h < power; ++h) slopes.push_back(slope(h, power));
  for (int64_t h = power; h < heads; ++h) slopes.push_back(slope(2 * (h - power), 2 * power));
  return slopes;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
