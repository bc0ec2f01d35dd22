#include "core/simd.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "core/random.h"
#include "refusal.h"
#include "tests/oracles/philox.h"

using namespace shiftgrad;
using namespace shiftgrad::simd;

namespace {

using Limits = std::numeric_limits<Scalar>;
using Exact = long double;
using Values = std::vector<Scalar>;

constexpr Scalar infinity = Limits::infinity();
constexpr Scalar not_a_number = Limits::quiet_NaN();
constexpr Exact pi = std::numbers::pi_v<Exact>;

Exact normal_cdf(Exact x) { return std::erfc(-x / std::sqrt(Exact(2))) / 2; }
Exact normal_density(Exact x) { return std::exp(-x * x / 2) / std::sqrt(2 * pi); }
Exact sigmoid(Exact x) { return 1 / (1 + std::exp(-x)); }
Exact gelu_tanh_inner(Exact x) { return std::sqrt(2 / pi) * (x + 0.044715L * x * x * x); }

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
    {"erf", Unary::erf, [](Exact x) { return std::erf(x); },
     [](Exact x) { return 2 / std::sqrt(pi) * std::exp(-x * x); }, 1, 2},
    {"relu", Unary::relu, [](Exact x) { return std::max(x, Exact(0)); },
     [](Exact x) { return Exact(x > 0); }, 0, 0},
    {"gelu", Unary::gelu, [](Exact x) { return x * normal_cdf(x); },
     [](Exact x) { return normal_cdf(x) + x * normal_density(x); }, 1, 3, true},
    {"gelu_tanh", Unary::gelu_tanh, [](Exact x) { return x * sigmoid(2 * gelu_tanh_inner(x)); },
     [](Exact x) {
       Exact s = sigmoid(2 * gelu_tanh_inner(x)), t = sigmoid(-2 * gelu_tanh_inner(x));
       Exact inner_slope = 2 * std::sqrt(2 / pi) * (1 + 3 * 0.044715L * x * x);
       return s * t == 0 ? s : s + x * s * t * inner_slope;
     },
     1, 3, true},
    {"square", Unary::square, [](Exact x) { return x * x; }, [](Exact x) { return 2 * x; }, 0, 0.5},
    {"reciprocal", Unary::reciprocal, [](Exact x) { return 1 / x; },
     [](Exact x) { return -1 / (x * x); }, 0, 0.5},
};

/// Runs the test on every instruction set of this CPU.
void on_every_instruction_set(const std::function<void()>& test) {
  auto sets = instruction_sets();
  REQUIRE(!sets.empty());
  for (const std::string& set : sets) {
    CAPTURE(set);
    use_instruction_set(set);
    test();
  }
  use_instruction_set(sets.front());
}

Values random_values(int64_t n, uint64_t seed) {
  Random random{seed};
  Values values(static_cast<size_t>(n));
  for (Scalar& value : values) value = static_cast<Scalar>(3 * random.normal());
  return values;
}

/// Both signs of every order of magnitude, close and wide.
Values wide_range() {
  Values values;
  int largest = Limits::max_exponent10;
  for (int n = -1000; n <= 1000; ++n) {
    Exact power = std::pow(Exact(10), Exact(n) / 1000 * largest);
    for (Exact value : {Exact(n) / 40, Exact(n) / 1.4L, power, -power})
      values.push_back(static_cast<Scalar>(value));
  }
  return values;
}

bool same_bits(const Values& a, const Values& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Scalar)) == 0;
}

int64_t size_of(const Values& values) { return static_cast<int64_t>(values.size()); }

/// Whether `got` is `expected` to within `tolerance`, or both are infinite or NaN.
bool is_close(Scalar got, Exact expected, Exact tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::abs(expected) > Limits::max()) return got == static_cast<Scalar>(expected);
  return std::abs(got - expected) <= tolerance;
}

void check_close(Exact x, Scalar got, Exact expected, Exact tolerance) {
  // Near the smallest numbers an intermediate result is rounded to a multiple of denorm_min.
  tolerance += (10 + std::abs(x)) * Limits::denorm_min();
  if (is_close(got, expected, tolerance)) return;
  FAIL("at " << x << ": " << got << ", not " << expected << " to within " << tolerance);
}

}  // namespace

TEST_CASE("map: every function over a wide range, as in std::") {
  Values x = wide_range(), y(x.size());
  on_every_instruction_set([&] {
    for (const Function& function : functions) {
      CAPTURE(function.name);
      map(function.f, x.data(), y.data(), size_of(x));
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
    Values x, y;
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
      {Unary::erf,
       {not_a_number, infinity, -infinity, largest, 0, -Scalar(0)},
       {not_a_number, 1, -1, 1, 0, -Scalar(0)}},
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
      {Unary::reciprocal,
       {not_a_number, infinity, 0, -Scalar(0)},
       {not_a_number, 0, infinity, -infinity}},
  };
  on_every_instruction_set([&] {
    for (const Special& special : specials) {
      const Values &x = special.x, &expected = special.y;
      Values y(x.size());
      map(special.f, x.data(), y.data(), size_of(x));
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
  Values x = wide_range(), y(x.size()), dx(x.size());
  Values dy = random_values(size_of(x), 1);
  on_every_instruction_set([&] {
    for (const Function& function : functions) {
      CAPTURE(function.name);
      map(function.f, x.data(), y.data(), size_of(x));
      map_gradient(function.f, x.data(), y.data(), dy.data(), 0, dx.data(), size_of(x));
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
      map_gradient(function.f, &x, &y, &dy, 0, &dx, 1);
      bool constant_slope = function.f == Unary::negate || function.f == Unary::relu;
      CAPTURE(function.name);
      CHECK(std::isnan(dx) == !constant_slope);
    }
    Scalar x = -1, y = 0, dy = infinity, dx = 7;
    map_gradient(Unary::relu, &x, &y, &dy, 0, &dx, 1);
    CHECK(dx == 0);
  });
}

TEST_CASE("map_gradient: beta times the old gradient is added, a beta of 0 does not read it") {
  on_every_instruction_set([&] {
    for (int64_t n = 0; n <= 70; ++n) {
      Values x = random_values(n, 1), y(x.size()), dy = random_values(n, 2);
      map(Unary::tanh, x.data(), y.data(), n);
      Values fresh(x.size(), not_a_number), old = random_values(n, 3), added = old;
      map_gradient(Unary::tanh, x.data(), y.data(), dy.data(), 0, fresh.data(), n);
      map_gradient(Unary::tanh, x.data(), y.data(), dy.data(), 2, added.data(), n);
      for (size_t i = 0; i < x.size(); ++i) {
        REQUIRE(std::isfinite(fresh[i]));
        Exact tolerance = Limits::epsilon() * (std::abs(fresh[i]) + 2 * std::abs(old[i]));
        check_close(x[i], added[i], Exact(fresh[i]) + 2 * Exact(old[i]), tolerance);
      }
    }
  });
}

// Of 71 numbers, and one at a time: in every lane, in whole vectors and in the rest behind them.
TEST_CASE("an element's bits do not depend on its place, and nothing behind the end is touched") {
  const Values x = random_values(71, 1), z = random_values(71, 2);
  using Loop = std::function<void(const Scalar* x, const Scalar* z, Scalar* y, int64_t n)>;
  std::vector<Loop> loops;
  for (const Function& function : functions) {
    loops.push_back([f = function.f](auto* p, auto*, auto* y, int64_t n) { map(f, p, y, n); });
    loops.push_back([f = function.f](auto* p, auto* q, auto* y, int64_t n) {
      map_gradient(f, p, q, q, Scalar(0.3), y, n);
    });
  }
  for (Binary f :
       {Binary::add, Binary::subtract, Binary::multiply, Binary::divide, Binary::maximum})
    loops.push_back([f](auto* p, auto* q, auto* y, int64_t n) { zip(f, p, q, y, n); });
  loops.push_back(
      [](auto* p, auto*, auto* y, int64_t n) { axpby(Scalar(0.3), p, Scalar(0.7), y, n); });
  loops.push_back([](auto* p, auto*, auto* y, int64_t n) { axpby(Scalar(0.3), p, 0, y, n); });
  loops.push_back([](auto* p, auto* q, auto* y, int64_t n) { multiply_add(p, q, y, n); });
  loops.push_back([](auto* p, auto*, auto* y, int64_t n) { exp_minus(p, Scalar(0.3), y, n); });

  on_every_instruction_set([&] {
    for (size_t loop = 0; loop < loops.size(); ++loop) {
      CAPTURE(loop);
      const Values start = random_values(71, 3);
      Values one_by_one = start;
      for (size_t i = 0; i < x.size(); ++i) loops[loop](&x[i], &z[i], &one_by_one[i], 1);
      for (size_t n = 0; n <= 70; ++n) {
        Values y = start, expected = start;
        std::copy_n(one_by_one.begin(), n, expected.begin());
        loops[loop](x.data(), z.data(), y.data(), static_cast<int64_t>(n));
        REQUIRE(same_bits(y, expected));
      }
    }
  });
}

TEST_CASE("map, zip: the output may be an input") {
  on_every_instruction_set([&] {
    for (int64_t n = 0; n <= 70; ++n) {
      const Values x = random_values(n, 1), z = random_values(n, 2);
      Values apart(x.size()), first = x, second = z;
      map(Unary::gelu, x.data(), apart.data(), n);
      map(Unary::gelu, first.data(), first.data(), n);
      REQUIRE(same_bits(first, apart));

      zip(Binary::subtract, x.data(), z.data(), apart.data(), n);
      first = x;
      zip(Binary::subtract, first.data(), z.data(), first.data(), n);
      zip(Binary::subtract, x.data(), second.data(), second.data(), n);
      REQUIRE(same_bits(first, apart));
      REQUIRE(same_bits(second, apart));
    }
  });
}

TEST_CASE("zip: the operations of the language") {
  const Values a = wide_range();
  Values b = a, y(a.size());
  std::rotate(b.begin(), b.begin() + 3, b.end());
  on_every_instruction_set([&] {
    auto check = [&](Binary f, Scalar (*expected)(Scalar, Scalar)) {
      zip(f, a.data(), b.data(), y.data(), size_of(a));
      for (size_t n = 0; n < a.size(); ++n) {
        Scalar value = expected(a[n], b[n]);
        REQUIRE((y[n] == value || (std::isnan(y[n]) && std::isnan(value))));
      }
    };
    check(Binary::add, [](Scalar p, Scalar q) { return p + q; });
    check(Binary::subtract, [](Scalar p, Scalar q) { return p - q; });
    check(Binary::multiply, [](Scalar p, Scalar q) { return p * q; });
    check(Binary::divide, [](Scalar p, Scalar q) { return p / q; });
    check(Binary::maximum, [](Scalar p, Scalar q) { return std::max(p, q); });
  });
}

TEST_CASE("zip: a maximum with NaN is NaN") {
  on_every_instruction_set([&] {
    Values a = {not_a_number, 1, not_a_number, infinity},
           b = {1, not_a_number, not_a_number, -infinity}, y(4);
    zip(Binary::maximum, a.data(), b.data(), y.data(), 4);
    for (size_t n = 0; n < 3; ++n) CHECK(std::isnan(y[n]));
    CHECK(y[3] == infinity);
  });
}

TEST_CASE("axpby, multiply_add: as written, and a beta of 0 does not read y") {
  on_every_instruction_set([&] {
    const Values x = random_values(70, 1), z = random_values(70, 2);
    const Values start = random_values(70, 3);
    Values sum = start, product = start, fresh(70, not_a_number);
    axpby(2, x.data(), -3, sum.data(), 70);
    multiply_add(x.data(), z.data(), product.data(), 70);
    axpby(2, x.data(), 0, fresh.data(), 70);
    for (size_t n = 0; n < x.size(); ++n) {
      Exact sizes = 2 * std::abs(x[n]) + 3 * std::abs(start[n]);
      check_close(x[n], sum[n], 2 * Exact(x[n]) - 3 * Exact(start[n]), sizes * Limits::epsilon());
      sizes = std::abs(Exact(x[n]) * z[n]) + std::abs(start[n]);
      check_close(x[n], product[n], Exact(x[n]) * z[n] + start[n], sizes * Limits::epsilon());
      CHECK(fresh[n] == 2 * x[n]);
    }
  });
}

TEST_CASE("sum, dot, maximum, exp_minus: of 0 to 70 and of many numbers") {
  on_every_instruction_set([&] {
    for (int64_t n = 0; n < 2000; n = n < 70 ? n + 1 : 2 * n + 1) {
      CAPTURE(n);
      const Values a = random_values(n, 1), b = random_values(n, 2);
      Values y(a.size());
      Exact total = 0, product = 0, exponentials = 0, sizes = 0, product_sizes = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        total += a[i];
        sizes += std::abs(a[i]);
        product += Exact(a[i]) * b[i];
        product_sizes += std::abs(Exact(a[i]) * b[i]);
        exponentials += std::exp(Exact(a[i]) - 2);
      }
      // In any order the error of a sum of n numbers is at most n epsilon/2 Σ |numbers|; a product
      // and a difference before it add a half each, exp adds one and its argument's 12.
      Exact each = Limits::epsilon() * static_cast<Exact>(n) / 2;
      check_close(0, sum(a.data(), n), total, each * sizes);
      check_close(0, dot(a.data(), b.data(), n), product,
                  (each + Limits::epsilon() / 2) * product_sizes);
      check_close(0, exp_minus(a.data(), 2, y.data(), n), exponentials,
                  (each + 14 * Limits::epsilon()) * exponentials);
      for (size_t i = 0; i < a.size(); ++i)
        check_close(a[i], y[i], std::exp(Exact(a[i]) - 2), 14 * Limits::epsilon() * y[i]);
      if (n > 0) REQUIRE(maximum(a.data(), n) == *std::max_element(a.begin(), a.end()));
    }
  });
}

TEST_CASE("products: of every number of rows, each as dot has it") {
  on_every_instruction_set([&] {
    for (int64_t M : {0, 1, 2, 3, 4, 7, 8, 9})
      for (int64_t R : {0, 1, 3, 4, 5, 11})
        for (int64_t n : {0, 1, 7, 16, 33, 70}) {
          CAPTURE(M);
          CAPTURE(R);
          CAPTURE(n);
          const int64_t a_stride = n + 2, x_stride = n + 1, y_stride = R + 1;
          const Values a = random_values(R * a_stride, 1), x = random_values(M * x_stride, 2);
          const Values start = random_values(M * y_stride, 3);
          Values sums = start, fresh(start.size(), not_a_number);
          const ConstMatrix X{x.data(), M, n, x_stride, 1}, A{a.data(), R, n, a_stride, 1};
          products(2, X, A, 3, {sums.data(), M, R, y_stride, 1});
          products(1, X, A, 0, {fresh.data(), M, R, y_stride, 1});
          for (int64_t m = 0; m < M; ++m)
            for (int64_t r = 0; r < R; ++r) {
              Exact product = 0, sizes = 0;
              for (int64_t c = 0; c < n; ++c) {
                Exact term = Exact(a[static_cast<size_t>(r * a_stride + c)]) *
                             x[static_cast<size_t>(m * x_stride + c)];
                product += term;
                sizes += std::abs(term);
              }
              auto at = static_cast<size_t>(m * y_stride + r);
              Exact bound = Limits::epsilon() * static_cast<Exact>(n + 4) / 2;
              check_close(0, fresh[at], product, bound * sizes);
              check_close(0, sums[at], 2 * product + 3 * Exact(start[at]),
                          bound * (2 * sizes + 3 * std::abs(Exact(start[at]))));
            }
        }
  });
}

TEST_CASE("maximum: finds the largest and any NaN in every place") {
  on_every_instruction_set([&] {
    for (size_t n = 1; n <= 70; ++n)
      for (size_t place = 0; place < n; ++place) {
        Values x(n, -infinity);
        x[place] = -5;
        REQUIRE(maximum(x.data(), size_of(x)) == -5);
        x[place] = not_a_number;
        REQUIRE(std::isnan(maximum(x.data(), size_of(x))));
      }
  });
  CHECK(refusal([] { maximum(nullptr, 0); }) == "maximum: of 0 numbers: expected at least 1");
}

TEST_CASE("exp_minus: of masked and of all masked rows") {
  on_every_instruction_set([&] {
    for (size_t n = 1; n <= 70; ++n) {
      Values x(n, -infinity), y(n);
      x[n / 2] = 3;
      CHECK(exp_minus(x.data(), 3, y.data(), size_of(x)) == 1);
      CHECK(y[n / 2] == 1);
      CHECK(std::count(y.begin(), y.end(), 0) == static_cast<int64_t>(n) - 1);

      std::fill(x.begin(), x.end(), -infinity);
      CHECK(exp_minus(x.data(), 0, y.data(), size_of(x)) == 0);
      CHECK(std::isnan(exp_minus(x.data(), -infinity, y.data(), size_of(x))));
    }
  });
}

TEST_CASE("softmax_gradient: the formula, and nothing of what has probability 0") {
  on_every_instruction_set([&] {
    for (int64_t n = 0; n <= 70; ++n) {
      CAPTURE(n);
      Values p = random_values(n, 1), dp = random_values(n, 2), start = random_values(n, 3);
      Values fresh(p.size(), not_a_number), added = start;
      for (size_t i = 0; i < p.size(); i += 3) {
        p[i] = 0;
        dp[i] = i % 2 ? infinity : not_a_number;
      }
      Exact mean = 0, sizes = 0;
      for (size_t i = 0; i < p.size(); ++i) {
        mean += p[i] == 0 ? 0 : Exact(p[i]) * dp[i];
        sizes += p[i] == 0 ? 0 : std::abs(Exact(p[i]) * dp[i]);
      }
      softmax_gradient(p.data(), dp.data(), 2, 0, fresh.data(), n);
      softmax_gradient(p.data(), dp.data(), 2, 3, added.data(), n);
      // The sum rounds n times, and five more operations follow.
      Exact each = Limits::epsilon() * static_cast<Exact>(n + 5);
      for (size_t i = 0; i < p.size(); ++i) {
        Exact slope = p[i] == 0 ? 0 : 2 * Exact(p[i]) * (dp[i] - mean);
        Exact size = p[i] == 0 ? 0 : 2 * std::abs(Exact(p[i])) * (std::abs(dp[i]) + sizes);
        check_close(p[i], fresh[i], slope, each * size);
        check_close(p[i], added[i], slope + 3 * Exact(start[i]),
                    each * (size + 3 * std::abs(start[i])));
      }
    }
  });
}

TEST_CASE("philox: many blocks at once, from any index on, are those one by one") {
  constexpr uint64_t seed = 0x299f31d0a4093822, stream = 0x0370734413198a2e;
  for (uint64_t first : {uint64_t{0}, uint64_t{3}, uint64_t{0xfffffffa}, uint64_t{1} << 63})
    for (size_t count = 0; count <= 20; ++count)
      on_every_instruction_set([&] {
        std::vector<PhiloxBlock> blocks(count + 1, PhiloxBlock{1, 2, 3, 4});
        philox(seed, stream, first, std::span(blocks).first(count));
        for (size_t n = 0; n < count; ++n)
          CHECK(blocks[n] == test::philox_oracle(seed, stream, first + n));
        CHECK(blocks[count] == PhiloxBlock{1, 2, 3, 4});
      });
}

TEST_CASE("use_instruction_set: an unknown one is refused") {
  CHECK(refusal([] { use_instruction_set("abacus"); }) ==
        "use_instruction_set: \"abacus\" is not one of this CPU's instruction_sets()");
}
