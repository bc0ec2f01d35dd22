#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "core/machine/simd.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/exact.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using simd::Unary;
using namespace shiftgrad::test;

namespace {

using Limits = std::numeric_limits<Scalar>;
using Scalars = std::vector<Scalar>;

constexpr Exact pi = std::numbers::pi_v<Exact>;

Exact normal_cdf(Exact x) { return std::erfc(-x / std::sqrt(Exact(2))) / 2; }
Exact normal_density(Exact x) { return std::exp(-x * x / 2) / std::sqrt(2 * pi); }
Exact sigmoid(Exact x) { return 1 / (1 + std::exp(-x)); }
constexpr Exact cubic = 0.044715L;
Exact gelu_tanh_inner(Exact x) { return std::sqrt(2 / pi) * (x + cubic * x * x * x); }

/// A function, what it should give, and how far off it may be: `error` epsilons of the result,
/// and of the slope for an argument that is itself rounded on the way (`rounds_argument`).
struct Function {
  std::string name;
  Unary f;
  Exact (*value)(Exact);
  Exact (*slope)(Exact);
  /// Sums of terms of this size cancel in the slope.
  Exact slope_terms;
  Exact error;
  bool rounds_argument = false;
};

// Highway states 1 epsilon for exp, 4 for log and tanh; each operation of ours adds a half.
const std::vector<Function> functions = {
    {"negate", Unary::negate, [](Exact x) { return -x; }, [](Exact) { return Exact(-1); }, 0, 0},
    {"exp", Unary::exp, [](Exact x) { return std::exp(x); }, [](Exact x) { return std::exp(x); }, 0,
     1},
    {"log", Unary::log, [](Exact x) { return std::log(x); }, [](Exact x) { return 1 / x; }, 0, 4},
    {"sqrt", Unary::sqrt, [](Exact x) { return std::sqrt(x); },
     [](Exact x) { return 1 / (2 * std::sqrt(x)); }, 0, 0.5},
    {"tanh", Unary::tanh, [](Exact x) { return std::tanh(x); },
     [](Exact x) { return 1 / std::pow(std::cosh(x), 2); }, 1, 4},
    {"sigmoid", Unary::sigmoid, sigmoid, [](Exact x) { return sigmoid(x) * sigmoid(-x); }, 1, 2},
    {"relu", Unary::relu, [](Exact x) { return std::max(x, Exact(0)); },
     [](Exact x) { return Exact(x > 0); }, 0, 0},
    {"gelu", Unary::gelu, [](Exact x) { return x * normal_cdf(x); },
     [](Exact x) { return normal_cdf(x) + x * normal_density(x); }, 1, 3, true},
    {"gelu_tanh", Unary::gelu_tanh, [](Exact x) { return x * sigmoid(2 * gelu_tanh_inner(x)); },
     [](Exact x) {
       Exact s = sigmoid(2 * gelu_tanh_inner(x)), t = sigmoid(-2 * gelu_tanh_inner(x));
       Exact inner_slope = 2 * std::sqrt(2 / pi) * (1 + 3 * cubic * x * x);
       return s * t == 0 ? s : s + x * s * t * inner_slope;
     },
     1, 3, true},
    {"square", Unary::square, [](Exact x) { return x * x; }, [](Exact x) { return 2 * x; }, 0, 0.5},
};

}  // namespace

TEST_CASE("map: every function over a wide range, as in std::") {
  Scalars x = wide_range(), y(x.size());
  on_every_instruction_set([&] {
    for (const Function& function : functions) {
      CAPTURE(function.name);
      simd::map(function.f, x.data(), y.data(), std::ssize(x));
      for (size_t n = 0; n < x.size(); ++n) {
        Exact expected = function.value(x[n]);
        Exact tolerance = (function.error + Exact(0.5)) * std::abs(expected);
        // Two roundings of the argument, up to x³, count as often as the function is steep.
        if (function.rounds_argument && std::isfinite(function.slope(x[n])))
          tolerance += 3 * std::abs(x[n] * function.slope(x[n]));
        check_close(x[n], y[n], expected, tolerance * Limits::epsilon());
      }
    }
  });
}

TEST_CASE("map: NaN stays NaN, overflow is infinite") {
  const Scalar smallest = Limits::denorm_min(), largest = Limits::max();
  struct Special {
    Unary f;
    Scalars x, y;
  };
  const std::vector<Special> specials = {
      {Unary::negate, {not_a_number, infinity, 0}, {not_a_number, -infinity, -Scalar(0)}},
      {Unary::exp,
       {not_a_number, infinity, -infinity, largest, -largest, smallest, 0},
       {not_a_number, infinity, 0, infinity, 0, 1, 1}},
      {Unary::log,
       {not_a_number, infinity, -infinity, -1, 0, -Scalar(0), 1},
       {not_a_number, infinity, not_a_number, not_a_number, -infinity, -infinity, 0}},
      {Unary::sqrt,
       {not_a_number, infinity, -infinity, -1, 0},
       {not_a_number, infinity, not_a_number, not_a_number, 0}},
      {Unary::tanh,
       {not_a_number, infinity, -infinity, largest, smallest, 0, -Scalar(0)},
       {not_a_number, 1, -1, 1, smallest, 0, -Scalar(0)}},
      {Unary::sigmoid,
       {not_a_number, infinity, -infinity, largest, -largest, 0},
       {not_a_number, 1, 0, 1, 0, Scalar(0.5)}},
      {Unary::relu,
       {not_a_number, infinity, -infinity, -1, smallest},
       {not_a_number, infinity, 0, 0, smallest}},
      {Unary::gelu,
       {not_a_number, infinity, largest, -largest, 0},
       {not_a_number, infinity, largest, 0, 0}},
      {Unary::gelu_tanh,
       {not_a_number, infinity, largest, -largest, 0},
       {not_a_number, infinity, largest, 0, 0}},
      {Unary::square, {not_a_number, -infinity, largest, 0}, {not_a_number, infinity, infinity, 0}},
  };
  on_every_instruction_set([&] {
    for (const Special& special : specials) {
      const Scalars &x = special.x, &expected = special.y;
      Scalars y(x.size());
      simd::map(special.f, x.data(), y.data(), std::ssize(x));
      for (size_t n = 0; n < x.size(); ++n) {
        CAPTURE(static_cast<int>(special.f));
        CAPTURE(x[n]);
        CAPTURE(y[n]);
        if (std::isnan(expected[n])) {
          CHECK(std::isnan(y[n]));
        } else {
          CHECK(y[n] == expected[n]);
          CHECK((expected[n] == 0 || std::signbit(y[n]) == std::signbit(expected[n])));
        }
      }
    }
  });
}

TEST_CASE("map_gradient: every function over a wide range") {
  Scalars x = wide_range(), y(x.size()), dx(x.size());
  Scalars dy = random_values(std::ssize(x), 1);
  on_every_instruction_set([&] {
    for (const Function& function : functions) {
      CAPTURE(function.name);
      simd::map(function.f, x.data(), y.data(), std::ssize(x));
      simd::map_gradient(function.f, x.data(), y.data(), dy.data(), 0, dx.data(), std::ssize(x));
      for (size_t n = 0; n < x.size(); ++n) {
        Exact slope = function.slope(x[n]);
        // The slope comes from the value, often squared, by three operations at most.
        Exact size = std::max(std::abs(slope), function.slope_terms);
        Exact tolerance = (2 * function.error + 3) * size * std::abs(dy[n]) * Limits::epsilon();
        check_close(x[n], dx[n], slope * dy[n], tolerance);
      }
    }
  });
}

TEST_CASE("map_gradient: a NaN is carried, an infinite gradient stays behind a relu's zero") {
  on_every_instruction_set([&] {
    for (const Function& function : functions) {
      Scalar x = not_a_number, y = not_a_number, dy = 1, dx = 0;
      simd::map_gradient(function.f, &x, &y, &dy, 0, &dx, 1);
      bool constant_slope = function.f == Unary::negate || function.f == Unary::relu;
      CAPTURE(function.name);
      CHECK(std::isnan(dx) == !constant_slope);
    }
    Scalar x = -1, y = 0, dy = infinity, dx = 7;
    simd::map_gradient(Unary::relu, &x, &y, &dy, 0, &dx, 1);
    CHECK(dx == 0);
  });
}

TEST_CASE("map_gradient: beta times the old gradient is added, a beta of 0 does not read it") {
  on_every_instruction_set([&] {
    for (int64_t n = 0; n <= 70; ++n) {
      Scalars x = random_values(n, 1), y(x.size()), dy = random_values(n, 2);
      simd::map(Unary::tanh, x.data(), y.data(), n);
      Scalars fresh(x.size(), not_a_number), old = random_values(n, 3), added = old;
      simd::map_gradient(Unary::tanh, x.data(), y.data(), dy.data(), 0, fresh.data(), n);
      simd::map_gradient(Unary::tanh, x.data(), y.data(), dy.data(), 2, added.data(), n);
      for (size_t i = 0; i < x.size(); ++i) {
        REQUIRE(std::isfinite(fresh[i]));
        Exact tolerance = Limits::epsilon() * (std::abs(fresh[i]) + 2 * std::abs(old[i]));
        check_close(x[i], added[i], Exact(fresh[i]) + 2 * Exact(old[i]), tolerance);
      }
    }
  });
}
