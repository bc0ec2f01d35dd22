#include "shiftgrad/ops/elementwise.h"

#include <array>
#include <cmath>

#include "shiftgrad/ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// A row for a function of one tensor, which does `f` to each element.
template <class Op, class F>
OpRow each(const char* name, const Dims& shape, Op op, F f, double low = -1, double high = 1) {
  auto oracle = [f](const std::vector<Numbers>& in) {
    Numbers y(in[0].shape);
    for (size_t n = 0; n < y.values.size(); ++n) y.values[n] = f(in[0].values[n]);
    return y;
  };
  return {name,   {shape}, [op](const std::vector<Tensor>& in) { return op(in[0]); },
          oracle, low,     high};
}

/// A row for a function of two tensors, which does `f` to each pair, broadcast to `shape`.
template <class Op, class F>
OpRow pairs(const char* name, const Dims& a, const Dims& b, const Dims& shape, Op op, F f) {
  auto oracle = [shape, f](const std::vector<Numbers>& in) {
    Numbers y(shape);
    for_each_index(shape, [&](const Dims& index) {
      y.at(index) = f(in[0].broadcast(index), in[1].broadcast(index));
    });
    return y;
  };
  return {name,   {a, b}, [op](const std::vector<Tensor>& in) { return op(in[0], in[1]); },
          oracle, 0.5,    2};
}

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
        "scale", shape, [](const Tensor& x) { return scale(x, -0.75); },
        [](B x) { return B(-0.75) * x; }));
    rows.push_back(each(
        "offset", shape, [](const Tensor& x) { return offset(x, 1.5); },
        [](B x) { return x + B(1.5); }));

    rows.push_back(each(
        "-x", shape, [](const Tensor& x) { return -x; }, [](B x) { return -x; }));
    rows.push_back(each(
        "x + 2", shape, [](const Tensor& x) { return x + 2; }, [](B x) { return x + B(2); }));
    rows.push_back(each(
        "2 + x", shape, [](const Tensor& x) { return 2 + x; }, [](B x) { return B(2) + x; }));
    rows.push_back(each(
        "x - 2", shape, [](const Tensor& x) { return x - 2; }, [](B x) { return x - B(2); }));
    rows.push_back(each(
        "2 - x", shape, [](const Tensor& x) { return 2 - x; }, [](B x) { return B(2) - x; }));
    rows.push_back(each(
        "x * 0.5", shape, [](const Tensor& x) { return x * 0.5; }, [](B x) { return x * B(0.5); }));
    rows.push_back(each(
        "0.5 * x", shape, [](const Tensor& x) { return 0.5 * x; }, [](B x) { return B(0.5) * x; }));
    rows.push_back(each(
        "x / 3", shape, [](const Tensor& x) { return x / 3; }, [](B x) { return x / B(3); }));
    rows.push_back(each(
        "3 / x", shape, [](const Tensor& x) { return 3 / x; }, [](B x) { return B(3) / x; }, 0.5,
        2));

    // The same tensor in both places.
    rows.push_back(each(
        "x + x", shape, [](const Tensor& x) { return x + x; }, [](B x) { return x + x; }));
    rows.push_back(each(
        "x - x", shape, [](const Tensor& x) { return x - x; }, [](B x) { return x - x; }));
    rows.push_back(each(
        "x * x", shape, [](const Tensor& x) { return x * x; }, [](B x) { return x * x; }));
    rows.push_back(each(
        "x / x", shape, [](const Tensor& x) { return x / x; }, [](B x) { return x / x; }, 0.5, 2));
    rows.push_back(each(
        "x * exp(x) + x", shape, [](const Tensor& x) { return x * exp(x) + x; },
        [](B x) { return x * exp(x) + x; }));
  }
  return rows;
}

struct Broadcast {
  Dims a, b, together;
};

const std::vector<Broadcast> broadcasts = {
    {{}, {}, {}},
    {{1}, {1}, {1}},
    {{3, 5}, {3, 5}, {3, 5}},
    {{3, 5}, {5}, {3, 5}},
    {{3, 5}, {1, 5}, {3, 5}},
    {{3, 5}, {3, 1}, {3, 5}},
    {{3, 5}, {}, {3, 5}},
    {{5}, {3, 1}, {3, 5}},
    {{2, 1, 4}, {3, 1}, {2, 3, 4}},
    {{2, 3, 4}, {2, 1, 4}, {2, 3, 4}},
    {{2, 3, 4}, {1, 3, 1}, {2, 3, 4}},
    {{1, 1, 1}, {2, 3}, {1, 2, 3}},
    {{0, 4}, {4}, {0, 4}},
    {{0, 1}, {1, 3}, {0, 3}},
};

std::vector<OpRow> rows_of_two() {
  using B = Bounded;
  std::vector<OpRow> rows;
  for (const auto& [a, b, shape] : broadcasts) {
    rows.push_back(pairs("add", a, b, shape, add, [](B x, B y) { return x + y; }));
    rows.push_back(pairs("subtract", a, b, shape, subtract, [](B x, B y) { return x - y; }));
    rows.push_back(pairs("multiply", a, b, shape, multiply, [](B x, B y) { return x * y; }));
    rows.push_back(pairs("divide", a, b, shape, divide, [](B x, B y) { return x / y; }));
    rows.push_back(pairs("add, turned", b, a, shape, add, [](B x, B y) { return x + y; }));
    rows.push_back(pairs("divide, turned", b, a, shape, divide, [](B x, B y) { return x / y; }));
  }
  return rows;
}

}  // namespace

TEST_CASE("functions of one tensor: values and gradients") { check_rows(rows_of_one()); }

TEST_CASE("functions of two tensors: values and gradients in every broadcast") {
  check_rows(rows_of_two());
}

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

TEST_CASE("long runs: pieces and tiles meet without a seam") {
  // Longer than several tiles, and of a length that no vector width divides.
  constexpr int64_t rows = 211, columns = 307;
  RandomValues random(3);
  Tensor x = random.tensor({rows, columns}).require_gradient();
  Tensor y = random.tensor({columns, rows}).require_gradient();
  Tensor cotangent = random.tensor({rows, columns});
  Tape tape;
  Tensor product = x * transpose(y);
  tape.backward(product, cotangent);
  // One multiplication is rounded once, so all three are equal bit for bit.
  bool equal = true;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      Scalar a = x.data()[i * columns + j], b = y.data()[j * rows + i];
      Scalar c = cotangent.data()[i * columns + j];
      equal = equal && product.data()[i * columns + j] == a * b &&
              x.gradient().data()[i * columns + j] == c * b &&
              y.gradient().data()[j * rows + i] == c * a;
    }
  CHECK(equal);
}

TEST_CASE("shapes that do not broadcast are refused by name") {
  Tensor a = Tensor::zeros({2, 3}), b = Tensor::zeros({4});
  CHECK(refusal([&] { a + b; }) == "add: [2, 3] and [4] do not broadcast");
  CHECK(refusal([&] { a - b; }) == "subtract: [2, 3] and [4] do not broadcast");
  CHECK(refusal([&] { a* b; }) == "multiply: [2, 3] and [4] do not broadcast");
  CHECK(refusal([&] { a / b; }) == "divide: [2, 3] and [4] do not broadcast");
}
