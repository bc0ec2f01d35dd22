#include "nn/positions.h"

#include <doctest/doctest.h>

#include "core/tape.h"
#include "ops/arithmetic.h"
#include "ops/shape.h"
#include "tests/support/mismatch.h"
#include "tests/support/oracles/attention.h"
#include "tests/support/random_values.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// The heads [B, H, T, D] of x, those of token i turned as RoPE turns position first + i · step.
Values turned_heads(const Tensor& x, int64_t first, int64_t step) {
  Values in(x), out(x.shape());
  int64_t T = x.size(2), D = x.size(3);
  for (int64_t row = 0; row < x.count() / D; ++row) {
    std::span<const double> head(&in.values[static_cast<size_t>(row * D)], static_cast<size_t>(D));
    std::ranges::copy(turned(head, first + row % T * step),
                      &out.values[static_cast<size_t>(row * D)]);
  }
  return out;
}

}  // namespace

TEST_CASE("sinusoids are in halves, and precise at any position") {
  std::vector<int64_t> positions{0, 1, 7, 5000, 1'000'000};
  Tensor table = sinusoids("test", positions, 6);
  CHECK(table.shape() == Dims{5, 6});
  Values expected({5, 6});
  for (size_t row = 0; row < positions.size(); ++row)
    for (size_t c = 0; c < 6; ++c) expected(row, c) = sinusoid_row(positions[row], 6)[c];
  CHECK(relative_error(table, expected) <= std::numeric_limits<Scalar>::epsilon());
  CHECK(Values(table)(0, 0) == 0);
  CHECK(Values(table)(0, 3) == 1);
}

TEST_CASE("sinusoids need an even width") {
  CHECK(refusal([] { sinusoids("layer", 0, -3, 4); }) ==
        "layer: positions -3, expected at least 0");
  CHECK(refusal([] { sinusoids("layer", {0}, 5); }) ==
        "layer: sinusoid positions need an even d_model, not 5");
}

TEST_CASE("rotation turns pairs half a head apart, and scores depend on distances only") {
  RandomValues random(71);
  Tensor x = random.tensor({2, 3, 4, 6}), y = rotate(x, 90'000);
  CHECK(relative_error(y, turned_heads(x, 90'000, 1)) <= exactness);
  CHECK(rotate(x, slice(sinusoids("test", 89'999, 6, 6), 0, 1, 5)).values() == y.values());
  std::vector<double> q{0.1, 0.5, -0.3, 0.8}, k{0.7, -0.2, 0.4, 0.9};
  auto product = [&](int64_t i, int64_t j) {
    std::vector<double> a = turned(q, i), b = turned(k, j);
    return Pair{a, b, 0, 0, 0}.content();
  };
  CHECK(product(9, 4) == doctest::Approx(product(105, 100)));
  CHECK(product(9, 4) != doctest::Approx(product(9, 5)));
}

TEST_CASE("the gradient of a rotation turns back, and adds to one that is there") {
  RandomValues random(72);
  Dims shape{2, 3, 4, 6};
  Tensor at_once = random.tensor(shape), at_first = random.tensor(shape);
  for (bool is_view : {false, true}) {  // whose gradient is written in place, or added to it
    CAPTURE(is_view);
    Tensor leaf = random.tensor(is_view ? Dims{2, 4, 3, 6} : shape).require_gradient();
    Tensor x = is_view ? transpose(leaf, 1, 2) : leaf;
    Tape tape;
    Tensor y = rotate(x, 7) * at_once + rotate(x, 90) * at_first;
    tape.backward(y, Tensor::full(shape, 1));
    Values first = turned_heads(at_once, -7, -1), second = turned_heads(at_first, -90, -1);
    Values sum(shape);
    for (size_t n = 0; n < sum.values.size(); ++n)
      sum.values[n] = first.values[n] + second.values[n];
    Tensor gradient = is_view ? transpose(leaf.gradient(), 1, 2) : leaf.gradient();
    CHECK(relative_error(gradient, sum) <= exactness);
  }
}

TEST_CASE("the last rows of a table stand after as many of the farthest as it lacks") {
  Tensor table = Tensor::from({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(last_rows(table, 0).shape() == Dims{0, 2});
  CHECK(last_rows(table, 2).values() == std::vector<Scalar>{3, 4, 5, 6});
  CHECK(last_rows(table, 3).values() == std::vector<Scalar>{1, 2, 3, 4, 5, 6});
  CHECK(last_rows(table, 5).values() == std::vector<Scalar>{1, 2, 1, 2, 1, 2, 3, 4, 5, 6});
  CHECK(last_rows(table, 4, Tensor::from({2}, {7, 8})).values() ==
        std::vector<Scalar>{7, 8, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("alibi's slopes are the paper's, for any number of heads") {
  CHECK(alibi_slopes(1) == std::vector<double>{std::exp2(-8)});
  CHECK(alibi_slopes(8) ==
        std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625});
  std::vector<double> of_12 = alibi_slopes(8);
  for (double exponent : {-0.5, -1.5, -2.5, -3.5}) of_12.push_back(std::exp2(exponent));
  CHECK(alibi_slopes(12) == of_12);
  CHECK(alibi_slopes(3) == std::vector<double>{0.0625, 0.00390625, 0.25});
}

TEST_CASE("positions without elements, and numbers that no position takes") {
  CHECK(sinusoids("layer", {}, 4).shape() == Dims{0, 4});
  CHECK(sinusoids("layer", {3}, 0).shape() == Dims{1, 0});
  for (const Dims& shape : {Dims{0, 2, 3, 4}, {2, 0, 3, 4}, {2, 2, 0, 4}, {2, 2, 3, 0}})
    CHECK(rotate(Tensor::zeros(shape), 5).shape() == shape);
  CHECK(alibi_slopes(0).empty());
  CHECK(refusal([] { alibi_slopes(-1); }) == "alibi_slopes: heads -1, expected at least 0");
  for (const Dims& shape : {Dims{2, 3, 4}, {2, 2, 3, 5}})
    CHECK(refusal([&] { rotate(Tensor::zeros(shape), 0); }) ==
          text("rotate: x ", shape, ", expected [B, H, T, D] with an even D"));
  CHECK(refusal([] { rotate({}, 0); }) == "rotate: x is undefined");
  for (const Tensor& table : {Tensor::zeros({3, 4}), transpose(Tensor::zeros({4, 5}))})
    CHECK(refusal([&] {
            rotate(Tensor::zeros({2, 2, 5, 4}), table);
          }) == text("rotate: sinusoids ", table.shape(), ", expected [5, 4] without gaps"));
  auto rows = [](const Dims& shape, int64_t count) {
    return refusal([&] { last_rows(Tensor::zeros(shape), count); });
  };
  auto expected = [](int64_t count, const Dims& shape) {
    return text("last_rows: ", count, " rows of ", shape,
                ", expected at least 0 and one that can stand for those it lacks");
  };
  CHECK(rows({3, 2}, -1) == expected(-1, {3, 2}));
  CHECK(rows({0, 2}, 1) == expected(1, {0, 2}));
  CHECK(rows({}, 0) == expected(0, {}));
}
