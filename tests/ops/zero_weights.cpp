#include "ops/zero_weights.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "core/accumulate.h"
#include "core/tape.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "ops/weighted_sum.h"
#include "tests/support/mismatch.h"
#include "tests/support/random_values.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// Sets x[…, index, …] along one axis.
void set(const Tensor& x, int64_t axis, int64_t index, Scalar value) {
  accumulate(0, select(x, axis, index), Tensor::full(select(x, axis, index).shape(), value));
}

/// The result of an op of two operands and their gradients, added to what is there where `added`.
std::array<Tensor, 3> results(auto op, const Tensor& a, const Tensor& b, const Tensor& dy,
                              bool added) {
  std::array<Tensor, 3> all;
  for (const Tensor* x : {&a, &b}) {
    x->require_gradient().zero_gradient();
    if (added) accumulate(x->open_gradient(), Tensor::full(x->shape(), Scalar(0.3)));
  }
  Tape tape;
  all[0] = op(a, b);
  tape.backward(all[0], dy);
  all[1] = contiguous(a.gradient().detach());
  all[2] = contiguous(b.gradient().detach());
  return all;
}

const Scalar ill[] = {not_a_number, infinity, -infinity};

}  // namespace

TEST_CASE("zero weights: a product's element whose gradient is 0 passes nothing on") {
  for (bool shared : {false, true})
    for (bool turned : {false, true})
      for (bool added : {false, true})
        for (Scalar value : ill) {
          CAPTURE(shared);
          CAPTURE(turned);
          CAPTURE(added);
          RandomValues random(1);
          Tensor a = random.tensor({2, 70, 4}), dy = random.tensor({2, 70, 5});
          Tensor b = random.tensor(shared ? Dims{4, 5} : Dims{2, 4, 5});
          if (turned) b = transpose(contiguous(transpose(b)));
          set(dy, -1, 2, 0);  // column 2 of b, and row 66 of a, have no weight
          set(dy, -2, 66, 0);
          auto gradients = [&](Scalar there) {
            Tensor left = Tensor::from(a.shape(), a.values()), right = b.detach();
            set(left, -2, 66, there);
            set(right, -1, 2, there);
            return results(matmul, left, right, dy, added);
          };
          auto expected = gradients(7), got = gradients(value);
          CHECK(same_bits(got[1], expected[1]));
          CHECK(same_bits(got[2], expected[2]));
          set(dy, -2, 66, 1);
          for (Scalar number : gradients(value)[2].values()) CHECK_FALSE(std::isfinite(number));
        }
}

TEST_CASE("zero weights: weighted_sum leaves out what has no weight, and idle queries") {
  for (bool shared : {false, true})
    for (bool added : {false, true})
      for (Scalar value : ill) {
        CAPTURE(shared);
        CAPTURE(added);
        RandomValues random(2);
        Tensor p = random.tensor({2, 3, 9, 7}), dy = random.tensor({2, 3, 9, 4});
        Tensor x = random.tensor({2, shared ? 1 : 3, 7, 4});
        set(p, 3, 5, 0);
        set(dy, 2, 8, 0);
        auto with = [&](Scalar there) {
          Tensor weights = Tensor::from(p.shape(), p.values()), rows = x.detach();
          set(weights, 2, 8, there);
          set(rows, 2, 5, there);
          return results(weighted_sum, weights, rows, dy, added);
        };
        auto expected = with(Scalar(0.5)), got = with(value);
        CHECK(same_bits(slice(got[0], 2, 0, 8), slice(expected[0], 2, 0, 8)));
        CHECK(same_bits(got[1], expected[1]));
        CHECK(same_bits(got[2], expected[2]));
        set(dy, 2, 8, 1);
        for (Scalar number : slice(with(value)[2], 2, 0, 5).values())
          CHECK_FALSE(std::isfinite(number));
      }
}

TEST_CASE("finite rows: the given matrix, or a copy without its gaps and in its order") {
  std::vector<Scalar> memory(10000, 1);
  for (bool turned : {false, true}) {
    Matrix wide{memory.data(), 10, 3, 1000, 1};
    if (turned) wide = Matrix{memory.data(), 10, 3, 1, 1000};
    CHECK(FiniteRows(wide).matrix.data == memory.data());
    wide.at(4, 2) = not_a_number;
    FiniteRows finite(wide);
    CHECK(finite.others == std::vector<int64_t>{4});
    CHECK(finite.matrix.row_stride == (turned ? 1 : 3));
    CHECK(finite.matrix.column_stride == (turned ? 10 : 1));
    for (int64_t row = 0; row < 10; ++row)
      for (int64_t column = 0; column < 3; ++column)
        CHECK(finite.matrix.at(row, column) == (row == 4 ? 0 : 1));
    wide.at(4, 2) = 1;
  }
  memory[0] = infinity;
  CHECK(FiniteRows(ConstMatrix{memory.data(), 5, 1, 1, 7}).matrix.row_stride == 1);
  CHECK(FiniteRows(ConstMatrix{memory.data(), 5, 1, 7, 1}).matrix.row_stride == 2);
}
