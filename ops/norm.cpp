#include "ops/norm.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/accumulate.h"
#include "core/errors.h"
#include "core/machine/allocator.h"
#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/norm/rows.h"
#include "ops/shape.h"
#include "ops/zero_weights.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// The rate of a norm. A norm centres a row, unless its mean counts as 0, and multiplies it by a
/// rate r that depends on q = Σ (x - mean)². Norms differ in that and in r(q) and 2 r'(q) alone.
struct Rate {
  double value, slope;
};

using RateOf = std::function<Rate(double q)>;

constexpr int64_t rows_per_tile = 16;

/// The gradients of weight and bias, one after the other.
using ParameterGradients = CachedVector<double>;

ParameterGradients sum_of(ParameterGradients a, const ParameterGradients& b) {
  for (size_t n = 0; n < a.size(); ++n) a[n] += b[n];
  return a;
}

Tensor as_tensor(std::span<const double> values) {
  return Tensor::from({std::ssize(values)}, std::vector<Scalar>(values.begin(), values.end()));
}

/// Whether nothing comes back to a row that is not finite. Such a row passes nothing on.
bool passes_nothing(const NormedRow& row, const Scalar* dy, int64_t C) {
  return !(row.rate > 0 && std::isfinite(row.mean)) && is_zero(dy, C);
}

Tensor normalized(const char* operation, const Tensor& input, const Tensor& gain,
                  const Tensor& shift, const RateOf& rate_of, bool centered = true) {
  require_defined(operation, "x", input, "weight", gain, "bias", shift);
  require(input.rank() >= 1 && input.size(-1) >= 1, operation, ": ", input.shape(),
          ", expected […, C] with C of at least 1");
  int64_t C = input.size(-1), rows = input.count() / C;
  require(gain.shape() == Dims{C} && shift.shape() == Dims{C}, operation, ": ", input.shape(),
          ": weight ", gain.shape(), " and bias ", shift.shape(), ", expected [", C, "]");
  Tensor x = contiguous(input), weight = contiguous(gain), bias = contiguous(shift);
  Tensor y = Tensor::empty(x.shape());
  auto normed = std::make_shared<CachedVector<NormedRow>>(rows);
  Scalar* out = y.mutable_data();
  parallel_each(rows, rows_per_tile, [&](int64_t row) {
    const Scalar* from = x.data() + row * C;
    auto [mean, squares] = moments(from, C);
    Rate rate = rate_of(centered ? squares : squares + static_cast<double>(C) * mean * mean);
    (*normed)[row] = {centered ? mean : 0, rate.value, rate.slope, centered};
    normalize((*normed)[row], from, weight.data(), bias.data(), out + row * C, C);
  });
  record(y, {&x, &weight, &bias}, [x, weight, bias, normed, rows, C](const Tensor& dy) {
    write_gradient(x.open_gradient(), [&](const Tensor& dx, Scalar beta) {
      parallel_each(rows, rows_per_tile, [&](int64_t row) {
        const Scalar* from = dy.data() + row * C;
        Scalar* to = dx.mutable_data() + row * C;
        if (!passes_nothing((*normed)[row], from, C))
          normalize_backward((*normed)[row], x.data() + row * C, weight.data(), from, beta, to, C);
        else if (beta == 0)
          std::fill_n(to, C, Scalar{0});
      });
    });
    if (!weight.requires_gradient() && !bias.requires_gradient()) return;
    auto sums_of_tile = [&](int64_t tile) {
      ParameterGradients sums(2 * C);
      int64_t end = std::min(rows, (tile + 1) * rows_per_tile);
      for (int64_t row = tile * rows_per_tile; row < end; ++row)
        if (!passes_nothing((*normed)[row], dy.data() + row * C, C))
          add_parameter_gradients((*normed)[row], x.data() + row * C, dy.data() + row * C,
                                  sums.data(), sums.data() + C, C);
      return sums;
    };
    int64_t tiles = divide_up(rows, rows_per_tile);
    auto sums = parallel_reduce<ParameterGradients>(tiles, sums_of_tile, sum_of);
    sums.resize(2 * C);  // there may be no rows
    accumulate(weight.open_gradient(), as_tensor(std::span(sums).first(C)));
    accumulate(bias.open_gradient(), as_tensor(std::span(sums).last(C)));
  });
  return y;
}

void check_epsilon(const char* operation, double epsilon) {
  require(epsilon >= 0 && std::isfinite(epsilon), operation, ": epsilon ", epsilon,
          ", expected at least 0");
}

/// r = (q/n + ε)^-½, so 2 r'(q) = -r³ / n.
RateOf by_mean_square(const char* operation, int64_t count, double epsilon) {
  check_epsilon(operation, epsilon);
  return [n = static_cast<double>(count), epsilon](double q) {
    double r = 1 / std::sqrt(q / n + epsilon);
    return Rate{r, -r * r * r / n};
  };
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  return normalized("layer_norm", x, weight, bias,
                    by_mean_square("layer_norm", weight.count(), epsilon));
}

Tensor deviation_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon,
                      bool unbiased) {
  require_defined("deviation_norm", "x", x);
  check_epsilon("deviation_norm", epsilon);
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

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  require_defined("rms_norm", "x", x);
  require(x.rank() >= 1 && x.size(-1) >= 1, "rms_norm: ", x.shape(),
          ", expected […, C] with C of at least 1");
  require(!weight.defined() || weight.shape() == Dims{x.size(-1)}, "rms_norm: ", x.shape(),
          ": weight ", weight.shape(), ", expected [", x.size(-1), "]");
  int64_t C = x.size(-1);
  return normalized("rms_norm", x, weight.defined() ? weight : Tensor::full({C}, 1),
                    Tensor::zeros({C}), by_mean_square("rms_norm", C, epsilon), false);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
