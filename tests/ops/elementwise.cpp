#include "ops/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

std::vector<OpRow> rows_of_one() {
  using B = Bounded;
  std::vector<OpRow> rows;
  for (const Dims& shape : {Dims{}, Dims{1}, Dims{7}, Dims{3, 5}, Dims{2, 3, 4}, Dims{2, 0, 3}}) {
    rows.push_back(each("negate", shape, negate, [](B x) { return -x; }));
    rows.push_back(each(
        "exp", shape, [](const Tensor& x) { return exp(x); }, [](B x) { return exp(x); }, -3, 3));
    rows.push_back(each(
        "log", shape, [](const Tensor& x) { return log(x); }, [](B x) { return log(x); }, 0.5, 9));
    rows.push_back(each(
        "sqrt", shape, [](const Tensor& x) { return sqrt(x); }, [](B x) { return sqrt(x); }, 0.5,
        9));
    rows.push_back(each(
        "square", shape, square, [](B x) { return x * x; }, -3, 3));
    rows.push_back(each(
        "tanh", shape, [](const Tensor& x) { return tanh(x); }, [](B x) { return tanh(x); }, -4,
        4));
    rows.push_back(each(
        "sigmoid", shape, sigmoid, [](B x) { return B(1) / (B(1) + exp(-x)); }, -6, 6));
    rows.push_back(each("relu", shape, relu, [](B x) { return x.value > 0 ? x : B(0); }));
    auto gelu_of = [](B x) { return x * (B(1) + erf(x * B(std::sqrt(0.5)))) * B(0.5); };
    rows.push_back(each("gelu", shape, gelu, gelu_of, -4, 4));
    auto gelu_tanh_of = [](B x) {
      B inner = B(std::sqrt(2 / std::numbers::pi)) * (x + B(0.044715) * x * x * x);
      return x * (B(1) + tanh(inner)) * B(0.5);
    };
    rows.push_back(each("gelu_tanh", shape, gelu_tanh, gelu_tanh_of, -4, 4));
    rows.push_back(each(
        "silu", shape, silu, [](B x) { return x * sigma(x); }, -6, 6));
    auto softplus_of = [](B x) { return log(B(1) + exp(x)); };
    rows.push_back(each("softplus", shape, softplus, softplus_of, -4, 4));
    rows.push_back(each(
        "log_sigmoid", shape, log_sigmoid, [=](B x) { return -softplus_of(-x); }, -4, 4));
    rows.push_back(each(
        "abs", shape, [](const Tensor& x) { return abs(x); },
        [](B x) { return x.value < 0 ? -x : x; }));
    rows.push_back(each(
        "sin", shape, [](const Tensor& x) { return sin(x); },
        [](B x) { return rounded(x, std::sin(x.value), 1); }, -50, 50));
    rows.push_back(each(
        "cos", shape, [](const Tensor& x) { return cos(x); },
        [](B x) { return rounded(x, std::cos(x.value), 1); }, -50, 50));
    // Drawn from a wide range, so that no difference quotient straddles a bound.
    rows.push_back(each(
        "clamp", shape, [](const Tensor& x) { return clamp(x, -300, 400); },
        [](B x) { return B(std::clamp(x.value, -300.0, 400.0)); }, -1000, 1000));
    rows.push_back(each(
        "clamp from below", shape, [](const Tensor& x) { return clamp(x, 10, infinity); },
        [](B x) { return B(std::max(x.value, 10.0)); }, -1000, 1000));
    for (double exponent : {-2.0, -0.5, 0.0, 1.0, 2.5, 3.0})
      rows.push_back(each(
          "pow", shape, [=](const Tensor& x) { return pow(x, static_cast<Scalar>(exponent)); },
          [=](B x) {
            double slope = exponent * std::pow(x.value, exponent - 1);
            return rounded(x, std::pow(x.value, exponent), slope);
          },
          0.5, 3));
    for (double exponent : {2.0, 3.0, 5.0})
      rows.push_back(each(
          "pow of either sign", shape,
          [=](const Tensor& x) { return pow(x, static_cast<Scalar>(exponent)); },
          [=](B x) { return rounded(x, std::pow(x.value, exponent), 0); }, -2, 2));
    rows.push_back(each(
        "-x", shape, [](const Tensor& x) { return -x; }, [](B x) { return -x; }));
    rows.push_back(each(
        "x * exp(x) + x", shape, [](const Tensor& x) { return x * exp(x) + x; },
        [](B x) { return x * exp(x) + x; }));
  }
  return rows;
}

/// The first tensor where the mask says so, each broadcast to `shape`.
OpRow choice(const Mask& mask, const Dims& a, const Dims& b, const Dims& shape) {
  return {text("where ", mask.shape),
          {a, b},
          [=](const std::vector<Tensor>& in) { return where(mask, in[0], in[1]); },
          [=](const std::vector<Numbers>& in) {
            Numbers condition(mask.shape), y(shape);
            for (size_t n = 0; n < mask.values.size(); ++n) condition.values[n] = mask.values[n];
            for_each_index(shape, [&](const Dims& index) {
              bool first = condition.broadcast(index).value != 0;
              y.at(index) = in[first ? 0 : 1].broadcast(index);
            });
            return y;
          }};
}

Scalar slope_at(Tensor (*f)(const Tensor&), Scalar at) {
  Tensor x = Tensor::full({}, at).require_gradient();
  Tape tape;
  tape.backward(f(x), Tensor::full({}, 5));
  return x.gradient().item();
}

}  // namespace

TEST_CASE("where: values and gradients in every broadcast") {
  check_rows({
      choice({{}, {1}}, {}, {}, {}),
      choice({{3}, {0, 1, 2}}, {3}, {3}, {3}),
      choice({{2, 3}, {1, 0, 1, 0, 0, 1}}, {2, 3}, {2, 3}, {2, 3}),
      choice({{3}, {1, 0, 0}}, {2, 1}, {}, {2, 3}),
      choice({{2, 1}, {1, 0}}, {3}, {1, 3}, {2, 3}),
      choice({{}, {0}}, {2, 3}, {3}, {2, 3}),
      choice({{0, 3}, {}}, {3}, {1, 1}, {0, 3}),
  });
}

TEST_CASE("where: what is not taken changes nothing") {
  Tensor a = Tensor::from({3}, {1, not_a_number, infinity}).require_gradient();
  Tensor b = Tensor::from({3}, {not_a_number, 2, 3}).require_gradient();
  Tape tape;
  Tensor y = where({{3}, {1, 0, 0}}, a, b);
  CHECK(y.values() == std::vector<Scalar>{1, 2, 3});
  tape.backward(y, Tensor::from({3}, {7, infinity, not_a_number}));
  CHECK(a.gradient().values() == std::vector<Scalar>{7, 0, 0});
  CHECK(b.gradient()[0].item() == 0);
  CHECK(b.gradient()[1].item() == infinity);
  CHECK(std::isnan(b.gradient()[2].item()));
}

// The numbers below are those of torch 2.13.
TEST_CASE("abs, clamp and pow at kinks and specials") {
  auto magnitude = [](const Tensor& x) { return abs(x); };
  CHECK(std::isnan(abs(Tensor::full({}, not_a_number)).item()));
  CHECK_FALSE(std::signbit(abs(Tensor::full({}, -Scalar{0})).item()));
  for (auto [at, slope] : {std::pair<Scalar, Scalar>{0, 0},
                           {-Scalar{0}, 0},
                           {not_a_number, 0},
                           {-2, -5},
                           {infinity, 5},
                           {-infinity, -5}})
    CHECK(slope_at(magnitude, at) == slope);

  auto clamped = [](const Tensor& x) { return clamp(x, -1, 1); };
  CHECK(std::isnan(clamped(Tensor::full({}, not_a_number)).item()));
  CHECK(clamped(Tensor::from({4}, {-infinity, -1, 1, infinity})).values() ==
        std::vector<Scalar>{-1, -1, 1, 1});
  CHECK(clamp(Tensor::from({3}, {-2, 0, 2}), 1, -1).values() == std::vector<Scalar>{-1, -1, -1});
  for (auto [at, slope] : {std::pair<Scalar, Scalar>{-1, 5},
                           {1, 5},
                           {0, 5},
                           {-2, 0},
                           {2, 0},
                           {not_a_number, 0},
                           {infinity, 0}})
    CHECK(slope_at(clamped, at) == slope);

  CHECK(pow(Tensor::from({3}, {0, not_a_number, infinity}), 0).values() ==
        std::vector<Scalar>{1, 1, 1});
  CHECK(pow(Tensor::from({3}, {0, -2, -infinity}), 3).values() ==
        std::vector<Scalar>{0, -8, -infinity});
  CHECK(pow(Tensor::from({2}, {0, -2}), -1).values() == std::vector<Scalar>{infinity, -0.5});
  CHECK(std::isnan(pow(Tensor::full({}, -2), 0.5).item()));
  CHECK(slope_at([](const Tensor& x) { return pow(x, 0); }, not_a_number) == 0);
  CHECK(slope_at([](const Tensor& x) { return pow(x, 1); }, 0) == 5);
  CHECK(slope_at([](const Tensor& x) { return pow(x, 2); }, 0) == 0);
  CHECK(slope_at([](const Tensor& x) { return pow(x, 0.5); }, 0) == infinity);
  CHECK(slope_at([](const Tensor& x) { return pow(x, 3); }, -2) == 60);
  CHECK(std::isnan(slope_at([](const Tensor& x) { return pow(x, 0.5); }, -2)));
}

TEST_CASE("softplus and log_sigmoid keep their digits at both ends") {
  for (double at : {-700.0, -80.0, -30.0, -5.0, 5.0, 30.0, 80.0, 700.0, 1e30}) {
    CAPTURE(at);
    Tensor x = Tensor::full({}, static_cast<Scalar>(at));
    double small = std::log1p(std::exp(-std::abs(at))), plus = std::max(at, 0.0) + small;
    double slope = (at > 0 ? 1 : std::exp(at)) / (1 + std::exp(-std::abs(at)));
    // Four roundings: of e^-|x|, of the logarithm or the sum, of the result, and of the oracle.
    auto allowed = [](double value) {
      constexpr double least = std::numeric_limits<Scalar>::min();
      return 4 * static_cast<double>(std::numeric_limits<Scalar>::epsilon()) * std::abs(value) +
             least;
    };
    CHECK(std::abs(softplus(x).item() - plus) <= allowed(plus));
    CHECK(std::abs(log_sigmoid(-x).item() + plus) <= allowed(plus));
    CHECK(std::abs(slope_at(softplus, x.item()) - 5 * slope) <= allowed(5 * slope));
    CHECK(std::abs(slope_at(log_sigmoid, -x.item()) - 5 * slope) <= allowed(5 * slope));
  }
}

TEST_CASE("what cannot be clamped or chosen is refused by name") {
  Tensor x = Tensor::zeros({2, 3});
  CHECK(refusal([&] { clamp(x, not_a_number, 1); }) == "clamp: to nan … 1, expected numbers");
  CHECK(refusal([&] { where({{2}, {1, 0}}, x, x); }) == "where: [2] and [2, 3] do not broadcast");
  CHECK(refusal([&] {
          where({{3}, {1, 0, 0}}, x, Tensor::zeros({2}));
        }) == "where: [2, 3] and [2] do not broadcast");
  CHECK(refusal([&] {
          where({{3}, {1, 0}}, x, x);
        }) == "where: condition: 2 values for the shape [3]");
}

TEST_CASE("functions of one tensor: values and gradients") { check_rows(rows_of_one()); }

TEST_CASE("functions of one tensor treat specials as std:: does") {
  using Function = Tensor (*)(const Tensor&);
  using Row = std::array<Scalar, 4>;
  constexpr Scalar nan = not_a_number;
  Tensor x = Tensor::from({4}, Row{0, nan, infinity, -infinity});
  auto check = [&](Function f, const Row& expected) {
    std::vector<Scalar> got = f(x).values();
    for (size_t n = 0; n < expected.size(); ++n) {
      CAPTURE(n);
      CHECK((std::isnan(expected[n]) ? std::isnan(got[n]) : got[n] == expected[n]));
    }
  };
  check(exp, {1, nan, infinity, 0});
  check(log, {-infinity, nan, infinity, nan});
  check(sqrt, {0, nan, infinity, nan});
  check(relu, {0, nan, infinity, 0});
  check(sigmoid, {0.5, nan, 1, 0});
  check(tanh, {0, nan, 1, -1});
  check(sin, {0, nan, nan, nan});
  check(cos, {1, nan, nan, nan});
  check(silu, {0, nan, infinity, nan});
  check(softplus, {std::log(Scalar{2}), nan, infinity, 0});
  check(log_sigmoid, {-std::log(Scalar{2}), nan, 0, -infinity});
  CHECK(std::isnan(log(Tensor::full({}, -1)).item()));
  CHECK(exp(Tensor::full({}, 1000)).item() == infinity);
  CHECK(exp(Tensor::full({}, -1000)).item() == 0);
}

TEST_CASE("relu: no gradient at 0 or below") {
  Tensor x = Tensor::from({3}, std::vector<Scalar>{-2, 0, 3}).require_gradient();
  Tape tape;
  tape.backward(relu(x), Tensor::full({3}, 5));
  CHECK(x.gradient().values() == std::vector<Scalar>{0, 0, 5});
}
