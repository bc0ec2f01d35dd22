#include "ops/norm.h"

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/parallel.h"
#include "core/simd.h"
#include "core/tape.h"
#include "ops/shape.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

/// Both norms centre a row and multiply it by a rate r that depends on q = Σ (x - mean)²:
///
///     y = w ⊙ r (x - mean) + b,    dx = r (g - mean(g)) + 2 r'(q) (x - mean) Σ g (x - mean)
///
/// with g = w ⊙ dy. They differ in r and its slope 2 r'(q) alone.
/// What is one number a row is kept in double: where a row's elements are nearly equal, the two
/// terms of dx nearly cancel.
struct Rate {
  double value, slope;
};

using RateOf = std::function<Rate(double q)>;

struct RowStatistics {
  double mean;
  Rate rate;
};

constexpr int64_t rows_per_tile = 16;

double mean_of(const Scalar* x, int64_t C) {
  return static_cast<double>(simd::sum(x, C)) / static_cast<double>(C);
}

RowStatistics normalize_row(const Scalar* x, const Scalar* weight, const Scalar* bias, Scalar* y,
                            int64_t C, const RateOf& rate_of) {
  double mean = mean_of(x, C);
  for (int64_t c = 0; c < C; ++c) y[c] = static_cast<Scalar>(static_cast<double>(x[c]) - mean);
  Rate rate = rate_of(static_cast<double>(simd::dot(y, y, C)));
  auto r = static_cast<Scalar>(rate.value);
  for (int64_t c = 0; c < C; ++c) y[c] = weight[c] * (r * y[c]) + bias[c];
  return {mean, rate};
}

void normalize_row_backward(const Scalar* x, const Scalar* weight, const Scalar* dy,
                            const RowStatistics& row, Scalar beta, Scalar* dx, int64_t C,
                            Scalar* centered, Scalar* g) {
  for (int64_t c = 0; c < C; ++c) {
    centered[c] = static_cast<Scalar>(static_cast<double>(x[c]) - row.mean);
    g[c] = weight[c] * dy[c];
  }
  double mean = mean_of(g, C);
  double along = row.rate.slope * static_cast<double>(simd::dot(g, centered, C));
  for (int64_t c = 0; c < C; ++c) {
    double gradient = row.rate.value * (static_cast<double>(g[c]) - mean) +
                      along * static_cast<double>(centered[c]);
    dx[c] = (beta == 0 ? 0 : beta * dx[c]) + static_cast<Scalar>(gradient);
  }
}

Tensor normalized(const char* operation, const Tensor& input, const Tensor& gain,
                  const Tensor& shift, const RateOf& rate_of) {
  require(input.rank() >= 1 && input.size(-1) >= 1, operation, ": ", input.shape(),
          ", expected […, C]");
  int64_t C = input.size(-1), rows = input.count() / C;
  require(gain.shape() == Dims{C} && shift.shape() == Dims{C}, operation, ": ", input.shape(),
          ": weight ", gain.shape(), " and bias ", shift.shape(), ", expected [", C, "]");
  Tensor x = contiguous(input), weight = contiguous(gain), bias = contiguous(shift);
  Tensor y = Tensor::empty(x.shape());
  auto statistics = std::make_shared<std::vector<RowStatistics>>(rows);
  Scalar* out = y.mutable_data();
  parallel_ranges(rows, rows_per_tile, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      (*statistics)[row] =
          normalize_row(x.data() + row * C, weight.data(), bias.data(), out + row * C, C, rate_of);
  });
  record(y, {&x, &weight, &bias}, [x, weight, bias, statistics, rows, C](const Tensor& dy) {
    deliver(x.gradient_sink(), [&](const Tensor& dx, Scalar beta) {
      parallel_ranges(rows, rows_per_tile, [&](int64_t begin, int64_t end) {
        std::vector<Scalar> scratch(2 * C);
        for (int64_t row = begin; row < end; ++row)
          normalize_row_backward(x.data() + row * C, weight.data(), dy.data() + row * C,
                                 (*statistics)[row], beta, dx.mutable_data() + row * C, C,
                                 scratch.data(), scratch.data() + C);
      });
    });
    if (bias.requires_gradient()) accumulate(expand(bias, dy.shape()).gradient_sink(), dy);
    if (!weight.requires_gradient()) return;
    Tensor products = Tensor::empty(dy.shape());
    parallel_ranges(rows, rows_per_tile, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        auto [mean, rate] = (*statistics)[row];
        for (int64_t n = row * C; n < (row + 1) * C; ++n)
          products.mutable_data()[n] =
              static_cast<Scalar>(static_cast<double>(dy.data()[n]) * rate.value *
                                  (static_cast<double>(x.data()[n]) - mean));
      }
    });
    accumulate(expand(weight, dy.shape()).gradient_sink(), products);
  });
  return y;
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  // r = (q/n + ε)^-½, so 2 r'(q) = -r³ / n.
  auto n = static_cast<double>(weight.count());
  return normalized("layer_norm", x, weight, bias, [n, epsilon](double q) {
    double r = 1 / std::sqrt(q / n + epsilon);
    return Rate{r, -r * r * r / n};
  });
}

Tensor deviation_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
                      bool unbiased) {
  int64_t fewest = unbiased ? 2 : 1;
  require(x.rank() >= 1 && x.size(-1) >= fewest, "deviation_norm: ", x.shape(),
          ", expected at least ", fewest, " elements a row");
  // s = (q/m)^½ with m = n - 1 or n, and r = 1/(s + ε), so 2 r'(q) = -r² / (m s).
  auto m = static_cast<double>(weight.count() - fewest + 1);
  return normalized("deviation_norm", x, weight, bias, [m, epsilon](double q) {
    double s = std::sqrt(q / m), r = 1 / (s + epsilon);
    return Rate{r, s == 0 ? 0 : -r * r / (m * s)};
  });
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
