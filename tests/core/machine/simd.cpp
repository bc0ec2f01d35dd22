#include "core/machine/simd.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tests/support/bounded.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/exact.h"
#include "tests/support/mismatch.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using simd::Binary, simd::Unary;
using namespace shiftgrad::test;

namespace {

using Scalars = std::vector<Scalar>;

/// Turns all of x into e^(x - shift); returns the sum.
Scalar exp_below(Scalars& x, Scalar shift) {
  const Interval all{0, std::ssize(x)};
  Scalar sum = 0;
  simd::exp_below(Matrix::row_major(x.data(), 1, all.end), &all, &shift, &sum);
  return sum;
}

}  // namespace

// Of 71 numbers, and one at a time: in every lane, in whole vectors and in the rest behind them.
TEST_CASE("an element's bits do not depend on its place, and nothing behind the end is touched") {
  const Scalars x = random_values(71, 1), z = random_values(71, 2);
  using Loop = std::function<void(const Scalar* x, const Scalar* z, Scalar* y, int64_t n)>;
  std::vector<Loop> loops;
  for (int n = 0; n <= static_cast<int>(Unary::square); ++n) {
    auto f = static_cast<Unary>(n);
    loops.push_back([f](auto* p, auto*, auto* y, int64_t n) { simd::map(f, p, y, n); });
    loops.push_back([f](auto* p, auto* q, auto* y, int64_t n) {
      simd::map_gradient(f, p, q, q, Scalar(0.3), y, n);
    });
  }
  for (Binary f : {Binary::add, Binary::subtract, Binary::multiply, Binary::divide, Binary::maximum,
                   Binary::weigh})
    loops.push_back([f](auto* p, auto* q, auto* y, int64_t n) { simd::zip(f, p, q, y, n); });
  loops.push_back(
      [](auto* p, auto*, auto* y, int64_t n) { simd::axpby(Scalar(0.3), p, Scalar(0.7), y, n); });
  loops.push_back([](auto* p, auto*, auto* y, int64_t n) { simd::axpby(Scalar(0.3), p, 0, y, n); });
  loops.push_back([](auto* p, auto* q, auto* y, int64_t n) { simd::multiply_add(p, q, y, n); });
  loops.push_back(
      [](auto* p, auto*, auto* y, int64_t n) { simd::exp_minus(p, Scalar(0.3), y, n); });

  on_every_instruction_set([&] {
    for (size_t loop = 0; loop < loops.size(); ++loop) {
      CAPTURE(loop);
      const Scalars start = random_values(71, 3);
      Scalars one_by_one = start;
      for (size_t i = 0; i < x.size(); ++i) loops[loop](&x[i], &z[i], &one_by_one[i], 1);
      for (size_t n = 0; n <= 70; ++n) {
        Scalars y = start, expected = start;
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
      const Scalars x = random_values(n, 1), z = random_values(n, 2);
      Scalars apart(x.size()), first = x, second = z;
      simd::map(Unary::gelu, x.data(), apart.data(), n);
      simd::map(Unary::gelu, first.data(), first.data(), n);
      REQUIRE(same_bits(first, apart));

      simd::zip(Binary::subtract, x.data(), z.data(), apart.data(), n);
      first = x;
      simd::zip(Binary::subtract, first.data(), z.data(), first.data(), n);
      simd::zip(Binary::subtract, x.data(), second.data(), second.data(), n);
      REQUIRE(same_bits(first, apart));
      REQUIRE(same_bits(second, apart));
    }
  });
}

TEST_CASE("zip: the operations of the language") {
  const Scalars a = wide_range();
  Scalars b = a, y(a.size());
  std::rotate(b.begin(), b.begin() + 3, b.end());
  on_every_instruction_set([&] {
    auto check = [&](Binary f, Scalar (*expected)(Scalar, Scalar)) {
      simd::zip(f, a.data(), b.data(), y.data(), std::ssize(a));
      for (size_t n = 0; n < a.size(); ++n) {
        Scalar value = expected(a[n], b[n]);
        REQUIRE((y[n] == value || (std::isnan(y[n]) && std::isnan(value))));
      }
    };
    check(Binary::add, [](Scalar p, Scalar q) { return p + q; });
    check(Binary::subtract, [](Scalar p, Scalar q) { return p - q; });
    check(Binary::multiply, [](Scalar p, Scalar q) { return p * q; });
    check(Binary::divide, [](Scalar p, Scalar q) { return p / q; });
    check(Binary::weigh,
          [](Scalar p, Scalar q) { return p == 0 && !std::isfinite(q) ? 0 : p * q; });
    check(Binary::maximum, [](Scalar p, Scalar q) { return std::max(p, q); });
  });
}

TEST_CASE("zip: a maximum with NaN is NaN") {
  on_every_instruction_set([&] {
    Scalars a = {not_a_number, 1, not_a_number, infinity},
            b = {1, not_a_number, not_a_number, -infinity}, y(4);
    simd::zip(Binary::maximum, a.data(), b.data(), y.data(), 4);
    for (size_t n = 0; n < 3; ++n) CHECK(std::isnan(y[n]));
    CHECK(y[3] == infinity);
  });
}

TEST_CASE("axpby, multiply_add: as written, and a beta of 0 does not read y") {
  on_every_instruction_set([&] {
    const Scalars x = random_values(70, 1), z = random_values(70, 2);
    const Scalars start = random_values(70, 3);
    Scalars sum = start, product = start, fresh(70, not_a_number);
    simd::axpby(2, x.data(), -3, sum.data(), 70);
    simd::multiply_add(x.data(), z.data(), product.data(), 70);
    simd::axpby(2, x.data(), 0, fresh.data(), 70);
    for (size_t n = 0; n < x.size(); ++n) {
      Exact sizes = 2 * std::abs(x[n]) + 3 * std::abs(start[n]);
      check_close(x[n], sum[n], 2 * Exact(x[n]) - 3 * Exact(start[n]), sizes * epsilon);
      sizes = std::abs(Exact(x[n]) * z[n]) + std::abs(start[n]);
      check_close(x[n], product[n], Exact(x[n]) * z[n] + start[n], sizes * epsilon);
      CHECK(fresh[n] == 2 * x[n]);
    }
  });
}

TEST_CASE("sum, maximum, exp_minus: of 0 to 70 and of many numbers") {
  on_every_instruction_set([&] {
    for (int64_t n = 0; n < 2000; n = n < 70 ? n + 1 : 2 * n + 1) {
      CAPTURE(n);
      const Scalars a = random_values(n, 1);
      Scalars y(a.size());
      Exact total = 0, exponentials = 0, sizes = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        total += a[i];
        sizes += std::abs(a[i]);
        exponentials += std::exp(Exact(a[i]) - 2);
      }
      // In any order the error of a sum of n numbers is at most n epsilon/2 Σ |numbers|; a
      // difference before it adds a half, exp adds one and its argument's 12.
      Exact each = epsilon * static_cast<Exact>(n) / 2;
      check_close(0, simd::sum(a.data(), n), total, each * sizes);
      check_close(0, simd::exp_minus(a.data(), 2, y.data(), n), exponentials,
                  (each + 14 * epsilon) * exponentials);
      for (size_t i = 0; i < a.size(); ++i)
        check_close(a[i], y[i], std::exp(Exact(a[i]) - 2), 14 * epsilon * y[i]);
      if (n > 0) REQUIRE(simd::maximum(a.data(), n) == *std::max_element(a.begin(), a.end()));
    }
  });
}

TEST_CASE("products: of every number of rows, few numbers and many") {
  on_every_instruction_set([&] {
    for (int64_t M : {0, 1, 2, 3, 4, 7, 8, 9})
      for (int64_t R : {0, 1, 3, 4, 5, 11, 70})
        for (int64_t n : {0, 1, 7, 16, 33, 70, 1001}) {
          CAPTURE(M);
          CAPTURE(R);
          CAPTURE(n);
          const int64_t a_stride = n + 2, x_stride = n + 1, y_stride = R + 1;
          const Scalars a = random_values(R * a_stride, 1), x = random_values(M * x_stride, 2);
          const Scalars start = random_values(M * y_stride, 3);
          Scalars sums = start, fresh(start.size(), not_a_number);
          const ConstMatrix X{x.data(), M, n, x_stride, 1}, A{a.data(), R, n, a_stride, 1};
          simd::thin_product(2, X, A, 3, {sums.data(), M, R, y_stride, 1});
          simd::thin_product(1, X, A, 0, {fresh.data(), M, R, y_stride, 1});
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
              Exact bound = epsilon * static_cast<Exact>(n + 4) / 2;
              check_close(0, fresh[at], product, bound * sizes);
              check_close(0, sums[at], 2 * product + 3 * Exact(start[at]),
                          bound * (2 * sizes + 3 * std::abs(Exact(start[at]))));
            }
        }
  });
}

TEST_CASE("row_product: of every width, and rows that lie apart") {
  on_every_instruction_set([&] {
    for (int64_t R : {0, 1, 3, 70})
      for (int64_t n : {1, 5, 16, 33, 64, 130}) {
        CAPTURE(R);
        CAPTURE(n);
        const int64_t stride = n + 3;
        const Scalars a = random_values(R * stride, 1), x = random_values(2 * R, 2);
        const Scalars start = random_values(n + 1, 3);
        Scalars sums = start, fresh(start.size(), not_a_number);
        const ConstMatrix X{x.data(), 1, R, 0, 2}, A{a.data(), R, n, stride, 1};
        simd::row_product(2, X, A, 3, {sums.data(), 1, n, n, 1});
        simd::row_product(1, X, A, 0, {fresh.data(), 1, n, n, 1});
        CHECK(sums.back() == start.back());
        CHECK(std::isnan(fresh.back()));
        for (int64_t c = 0; c < n; ++c) {
          Exact product = 0, sizes = 0;
          for (int64_t r = 0; r < R; ++r) {
            Exact term = Exact(x[size_t(2 * r)]) * a[size_t(r * stride + c)];
            product += term;
            sizes += std::abs(term);
          }
          Exact bound = epsilon * static_cast<Exact>(R + 4) / 2;
          check_close(0, fresh[size_t(c)], product, bound * sizes);
          check_close(0, sums[size_t(c)], 2 * product + 3 * Exact(start[size_t(c)]),
                      bound * (2 * sizes + 3 * std::abs(Exact(start[size_t(c)]))));
        }
      }
  });
}

TEST_CASE("maximum: finds the largest and any NaN in every place") {
  on_every_instruction_set([&] {
    for (size_t n = 1; n <= 70; ++n)
      for (size_t place = 0; place < n; ++place) {
        Scalars x(n, -infinity);
        x[place] = -5;
        REQUIRE(simd::maximum(x.data(), std::ssize(x)) == -5);
        x[place] = not_a_number;
        REQUIRE(std::isnan(simd::maximum(x.data(), std::ssize(x))));
      }
  });
  CHECK(refusal([] { simd::maximum(nullptr, 0); }) == "maximum: of 0 numbers: expected at least 1");
}

TEST_CASE("exp_below: of 0 to 70 and of many numbers, of masked ones, of NaN") {
  on_every_instruction_set([&] {
    for (int64_t n = 0; n < 2000; n = n < 70 ? n + 1 : 2 * n + 1) {
      CAPTURE(n);
      Scalars x = random_values(n, 1), y(x.size());
      const Scalar greatest = x.empty() ? 0 : *std::max_element(x.begin(), x.end());
      for (size_t i = 0; i < x.size(); i += 5) x[i] = i % 2 ? -infinity : 30 * (x[i] - greatest);
      Exact total = 0;
      for (Scalar value : x) total += std::exp(Exact(value) - greatest);
      // A difference rounds half, on the scale of the greater number, and exp to one more.
      const Exact each = epsilon * (2 + 30 * 2 * std::abs(Exact(greatest)) + 100);
      y = x;
      check_close(0, exp_below(y, greatest), total,
                  (each + epsilon * static_cast<Exact>(n)) * total);
      for (size_t i = 0; i < x.size(); ++i) {
        const Exact expected = std::exp(Exact(x[i]) - greatest);
        check_close(x[i], y[i], expected, each * expected + std::numeric_limits<Scalar>::min());
      }
    }
    for (size_t n = 1; n <= 40; ++n) {
      Scalars x(n, 1), y(n);
      x[n / 2] = not_a_number;
      y = x;
      CHECK(std::isnan(exp_below(y, 1)));
      CHECK(std::count(y.begin(), y.end(), 1) == static_cast<int64_t>(n) - 1);
    }
  });
}

TEST_CASE("functions of rows: each row gets the bits that it gets alone") {
  on_every_instruction_set([&] {
    constexpr int64_t rows = 5, step = 80;
    for (int64_t n = 1; n <= 70; ++n) {
      CAPTURE(n);
      const Scalars a = random_values(rows * step, 1), b = random_values(rows * step, 2);
      const ConstMatrix p{a.data(), rows, n, step, 1}, dp{b.data(), rows, n, step, 1};
      Scalars sum = b, scaled = b, slopes = b, powers = a;
      Scalars means(rows), greatest(rows), totals(rows);
      auto matrix = [&](Scalars& x) { return Matrix{x.data(), rows, n, step, 1}; };
      std::vector<Interval> seen;
      for (int64_t i = 0; i < rows; ++i) seen.push_back({i * n / 7, n - (4 - i) * n / 9});
      seen[3].end = seen[3].begin;
      simd::add_rows(p, dp, matrix(sum));
      simd::scale_rows(b.data(), p, matrix(scaled));
      simd::softmax_means(p, dp, means.data());
      simd::softmax_gradients(p, dp, means.data(), 2, 0, matrix(slopes));
      simd::maxima(p, seen.data(), greatest.data());
      simd::exp_below(matrix(powers), seen.data(), greatest.data(), totals.data());
      Scalars added = b, multiplied = b, gradients = b, exponentials = a, column_sums = b;
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t at = i * step;
        simd::zip(Binary::add, &a[at], &b[at], &added[at], n);
        simd::axpby(b[i], &a[at], 0, &multiplied[at], n);
        const ConstMatrix one_p = p.rows_from(i, 1), one_dp = dp.rows_from(i, 1);
        Scalar mean = not_a_number;
        simd::softmax_means(one_p, one_dp, &mean);
        REQUIRE(means[i] == mean);
        simd::softmax_gradients(one_p, one_dp, &mean, 2, 0, matrix(gradients).rows_from(i, 1));
        Scalars part(&a[at + seen[i].begin], &a[at + seen[i].end]);
        REQUIRE(greatest[i] ==
                (part.empty() ? -infinity : simd::maximum(part.data(), std::ssize(part))));
        REQUIRE(totals[i] == exp_below(part, greatest[i]));
        std::fill_n(&exponentials[at], n, Scalar{0});
        std::copy(part.begin(), part.end(), &exponentials[at + seen[i].begin]);
        simd::axpby(1, &a[at], 1, column_sums.data(), n);
      }
      REQUIRE(sum == added);
      REQUIRE(scaled == multiplied);
      REQUIRE(slopes == gradients);
      REQUIRE(powers == exponentials);
      Scalars repeated = b;
      simd::sum_rows(p, repeated.data());
      REQUIRE(repeated == column_sums);
    }
  });
}

TEST_CASE("exp_minus: of masked and of all masked rows") {
  on_every_instruction_set([&] {
    for (size_t n = 1; n <= 70; ++n) {
      Scalars x(n, -infinity), y(n);
      x[n / 2] = 3;
      CHECK(simd::exp_minus(x.data(), 3, y.data(), std::ssize(x)) == 1);
      CHECK(y[n / 2] == 1);
      CHECK(std::count(y.begin(), y.end(), 0) == static_cast<int64_t>(n) - 1);

      std::fill(x.begin(), x.end(), -infinity);
      CHECK(simd::exp_minus(x.data(), 0, y.data(), std::ssize(x)) == 0);
      CHECK(std::isnan(simd::exp_minus(x.data(), -infinity, y.data(), std::ssize(x))));
    }
  });
}

TEST_CASE("softmax_gradients: the formula, and nothing of what has probability 0") {
  on_every_instruction_set([&] {
    for (int64_t n = 0; n <= 70; ++n) {
      CAPTURE(n);
      Scalars p = random_values(n, 1), dp = random_values(n, 2), start = random_values(n, 3);
      Scalars fresh(p.size(), not_a_number), added = start;
      for (size_t i = 0; i < p.size(); i += 3) {
        p[i] = 0;
        dp[i] = i % 2 ? infinity : not_a_number;
      }
      Exact mean = 0, sizes = 0;
      for (size_t i = 0; i < p.size(); ++i) {
        mean += p[i] == 0 ? 0 : Exact(p[i]) * dp[i];
        sizes += p[i] == 0 ? 0 : std::abs(Exact(p[i]) * dp[i]);
      }
      const ConstMatrix of_p{p.data(), 1, n, n, 1}, of_dp{dp.data(), 1, n, n, 1};
      Scalar found = not_a_number;
      simd::softmax_means(of_p, of_dp, &found);
      simd::softmax_gradients(of_p, of_dp, &found, 2, 0, {fresh.data(), 1, n, n, 1});
      simd::softmax_gradients(of_p, of_dp, &found, 2, 3, {added.data(), 1, n, n, 1});
      // The sum rounds n times, and five more operations follow.
      Exact each = epsilon * static_cast<Exact>(n + 5);
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

TEST_CASE("use_instruction_set: an unknown one is refused") {
  CHECK(refusal([] { simd::use_instruction_set("abacus"); }) ==
        "use_instruction_set: \"abacus\" is not one of this CPU's instruction_sets()");
}
