#include "ops/arithmetic.h"

#include <cmath>

#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

std::vector<OpRow> rows_with_numbers() {
  using B = Bounded;
  std::vector<OpRow> rows;
  for (const Dims& shape : {Dims{}, Dims{1}, Dims{7}, Dims{3, 5}, Dims{2, 3, 4}, Dims{2, 0, 3}}) {
    rows.push_back(each(
        "scale", shape, [](const Tensor& x) { return scale(x, -0.75); },
        [](B x) { return B(-0.75) * x; }));
    rows.push_back(each(
        "add_scalar", shape, [](const Tensor& x) { return add_scalar(x, 1.5); },
        [](B x) { return x + B(1.5); }));
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

    // One tensor stands in both places.
    rows.push_back(each(
        "x + x", shape, [](const Tensor& x) { return x + x; }, [](B x) { return x + x; }));
    rows.push_back(each(
        "x - x", shape, [](const Tensor& x) { return x - x; }, [](B x) { return x - x; }));
    rows.push_back(each(
        "x * x", shape, [](const Tensor& x) { return x * x; }, [](B x) { return x * x; }));
    rows.push_back(each(
        "x / x", shape, [](const Tensor& x) { return x / x; }, [](B x) { return x / x; }, 0.5, 2));
  }
  return rows;
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

TEST_CASE("arithmetic with numbers: values and gradients") { check_rows(rows_with_numbers()); }

TEST_CASE("x += y is x = x + y: recorded, and no other handle sees it") {
  Tensor x = Tensor::from({2}, {1, 2}).require_gradient();
  Tensor y = Tensor::from({1}, {10}).require_gradient();
  Tensor moving = x;
  Tape tape;
  moving += y;       // x + y
  moving *= moving;  // (x + y)²
  moving -= 1;
  moving /= 2;
  CHECK(moving.values() == std::vector<Scalar>{60, 71.5});
  CHECK(x.values() == std::vector<Scalar>{1, 2});
  CHECK_FALSE(moving.shares_storage(x));
  tape.backward(moving, Tensor::from({2}, {1, 1}));
  CHECK(x.gradient().values() == std::vector<Scalar>{11, 12});
  CHECK(y.gradient().values() == std::vector<Scalar>{23});
  Tensor small = Tensor::zeros({2});
  CHECK((small += Tensor::full({3, 1}, 1)).shape() == Dims{3, 2});  // broadcasts, as x + y does
}

TEST_CASE("arithmetic of two tensors: values and gradients in every broadcast") {
  check_rows(rows_of_two());
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

TEST_CASE("a gradient of 0 passes nothing on, even past what is not finite") {
  for (Scalar bad : {not_a_number, infinity, -infinity}) {
    Tensor x = Tensor::from({2}, {bad, 3}).require_gradient();
    Tensor gate = Tensor::from({2}, {5, 7}).require_gradient();
    for (Scalar passes : {1, 2}) {  // the second one adds to the first one's gradient
      Tape tape;
      tape.backward(gate * x, Tensor::from({2}, {0, 1}));
      CHECK(gate.gradient().values() == std::vector<Scalar>{0, 3 * passes});
      CHECK(x.gradient().values() == std::vector<Scalar>{0, 7 * passes});
    }
    using Function = Tensor (*)(const Tensor&);
    for (Function op : {Function{exp}, Function{tanh}, Function{sigmoid}, Function{gelu},
                        Function{square}, Function{silu}, Function{softplus}, Function{sin}}) {
      x.zero_gradient();
      Tape tape;
      tape.backward(op(x), Tensor::from({2}, {0, 1}));
      CHECK(x.gradient().values()[0] == 0);
      CHECK(std::isfinite(x.gradient().values()[1]));
    }
  }
}
