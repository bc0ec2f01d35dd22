#include "optim/clip.h"

#include <array>
#include <cmath>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "optim/parameter_chunks.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

double clip_gradient_norm(const std::vector<Parameter>& parameters, double max_norm) {
  require(max_norm >= 0, "clip_gradient_norm: max_norm ", max_norm, ", expected at least 0");
  double norm = gradient_norm(parameters);
  double factor = max_norm / (norm + 1e-6);
  if (max_norm == 0 || !std::isfinite(norm) || factor >= 1) return norm;
  std::vector<ParameterChunk> all = parameter_chunks(parameters);
  parallel_for(static_cast<int64_t>(all.size()), [&](int64_t n) {
    const ParameterChunk& chunk = all[n];
    Scalar* gradient = parameters[chunk.parameter].value.gradient().mutable_data() + chunk.begin;
    simd::axpby(static_cast<Scalar>(factor), gradient, 0, gradient, chunk.end - chunk.begin);
  });
  return norm;
}

namespace {

/// Sums squares in several running sums side by side, which the compiler puts in the lanes of
/// vectors.
double sum_of_squares(const Scalar* x, int64_t n) {
  constexpr int64_t lanes = 16;
  std::array<double, lanes> sums{};
  int64_t whole = n / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      auto value = static_cast<double>(x[i + lane]);
      sums[lane] += value * value;
    }
  for (int64_t i = whole; i < n; ++i)
    sums[i - whole] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

}  // namespace

double gradient_norm(const std::vector<Parameter>& parameters) {
  require_distinct("gradient_norm", parameters);
  std::vector<ParameterChunk> all = parameter_chunks(parameters);
  double squares = parallel_reduce<double>(
      static_cast<int64_t>(all.size()),
      [&](int64_t n) {
        const ParameterChunk& chunk = all[n];
        Tensor gradient = parameters[chunk.parameter].value.gradient();
        return sum_of_squares(gradient.data() + chunk.begin, chunk.end - chunk.begin);
      },
      [](double left, double right) { return left + right; });
  return std::sqrt(squares);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
