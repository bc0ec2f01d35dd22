#include "shiftgrad/ops/elementwise.h"

#include <array>
#include <cmath>

#include "tests/support/op_row.h"
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
      B inner = B(std::sqrt(2 / M_PI)) * (x + B(0.044715) * x * x * x);
      return x * (B(1) + tanh(inner)) * B(0.5);
    };
    rows.push_back(each("gelu_tanh", shape, gelu_tanh, gelu_tanh_of, -4, 4));
    rows.push_back(each(
        "-x", shape, [](const Tensor& x) { return -x; }, [](B x) { return -x; }));
    rows.push_back(each(
        "x * exp(x) + x", shape, [](const Tensor& x) { return x * exp(x) + x; },
        [](B x) { return x * exp(x) + x; }));
  }
  return rows;
}

}  // namespace

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
