// The band of a product against its sums written out, and against the whole product.

#include "core/machine/parallel.h"
#include "ops/aft.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "tests/support/every_instruction_set.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using In = std::vector<Tensor>;

/// y[i, c] = a_i · b_{start + i + c}
Numbers sums(const Numbers& a, const Numbers& b, int64_t width, int64_t start) {
  Numbers y({a.shape[0], width});
  for_each_index(y.shape, [&](const Dims& x) {
    int64_t j = start + x[0] + x[1];
    for (int64_t d = 0; 0 <= j && j < b.shape[0] && d < a.shape[1]; ++d)
      y.at(x) += a(x[0], d) * b(j, d);
  });
  return y;
}

OpRow row(int64_t T, int64_t K, int64_t r, int64_t width, int64_t start) {
  return {text(T, " rows, ", K, " keys, width ", width, " from ", start),
          {{T, r}, {K, r}},
          [=](const In& in) { return banded_product(in[0], in[1], width, start); },
          [=](const std::vector<Numbers>& in) { return sums(in[0], in[1], width, start); },
          -1,
          1,
          {},
          [=](const In& in) {
            Tensor all = unsqueeze(matmul(in[0], transpose(in[1])), 0);
            return shifted_rows(all, width, start, 1)[0];
          }};
}

struct Result {
  std::vector<Scalar> y, da, db;
  bool operator==(const Result&) const = default;
};

Result result_of(const Tensor& a, const Tensor& b, int64_t width, int64_t start,
                 const Tensor& cotangent) {
  a.zero_gradient();
  b.zero_gradient();
  Tape tape;
  Tensor y = banded_product(a, b, width, start);
  tape.backward(y, cotangent);
  return {y.values(), a.gradient().values(), b.gradient().values()};
}

}  // namespace

TEST_CASE("banded_product: values and gradients") {
  check_rows({row(4, 4, 2, 2, -1), row(3, 5, 2, 3, 0), row(5, 3, 2, 4, -2), row(1, 4, 3, 2, 2),
              row(4, 3, 1, 9, -4), row(3, 3, 2, 2, -7), row(3, 3, 2, 2, 5)});
}

TEST_CASE("banded_product: several blocks of rows, and their borders") {
  for (int64_t T : {63, 64, 65, 130})
    for (auto [M, width, start] : {std::tuple{0, 8, -7}, {5, 3, 5}, {0, 90, -60}}) {
      RandomValues random(181);
      OpRow of = row(T, T + M, 3, width, start);
      Tensor a = random.tensor({T, 3}), b = random.tensor({T + M, 3});
      CHECK(mismatch(of.op({a, b}), of.oracle({numbers(a), numbers(b)})) == "");
      a.require_gradient();
      b.require_gradient();
      Tensor cotangent = random.tensor({T, width});
      Result banded = result_of(a, b, width, start, cotangent);
      a.zero_gradient();
      b.zero_gradient();
      Tape tape;
      tape.backward(of.twin({a, b}), cotangent);
      for (auto [ours, whole] : {std::pair{banded.da, a.gradient().values()},
                                 std::pair{banded.db, b.gradient().values()}})
        for (size_t n = 0; n < ours.size(); ++n)
          CHECK(std::abs(ours[n] - whole[n]) <= 200 * epsilon);
    }
}

TEST_CASE("banded_product: the same bits on any number of threads") {
  RandomValues random(182);
  Tensor a = random.tensor({300, 5}).require_gradient();
  Tensor b = random.tensor({310, 5}).require_gradient();
  Tensor cotangent = random.tensor({300, 20});
  Result here = result_of(a, b, 20, -9, cotangent);
  for (int threads : {1, 2, 3, 4})
    with_threads(threads, [&] { CHECK(result_of(a, b, 20, -9, cotangent) == here); });
}

TEST_CASE("banded_product: what no band has, or has a gradient of 0, gives nothing") {
  RandomValues random(183);
  Tensor a = random.tensor({100, 2}).require_gradient();
  Tensor b = random.tensor({100, 2}).require_gradient();
  Tensor cotangent = random.tensor({100, 3});
  for (int64_t i = 40; i < 100; ++i)
    for (int64_t c = 0; c < 3; ++c) cotangent.mutable_data()[i * 3 + c] = 0;
  Result before = result_of(a, b, 3, -2, cotangent);
  for (Scalar extreme : {infinity, not_a_number})
    for (int64_t n = 80; n < 200; ++n) {
      a.mutable_data()[n] = extreme;
      b.mutable_data()[n] = extreme;
    }
  Result after = result_of(a, b, 3, -2, cotangent);
  CHECK(after.da == before.da);
  CHECK(after.db == before.db);
  CHECK(std::equal(after.y.begin(), after.y.begin() + 120, before.y.begin()));
}

TEST_CASE("banded_product: shapes that do not fit are refused") {
  auto refused = [](const Dims& a, const Dims& b) {
    return refusal([&] { banded_product(Tensor::zeros(a), Tensor::zeros(b), 1, 0); });
  };
  CHECK(refused({2, 3}, {2, 4}) ==
        "banded_product: [2, 3] with [2, 4], expected [T, r] and [K, r]");
  CHECK(refused({1, 2, 3}, {2, 3}) ==
        "banded_product: [1, 2, 3] with [2, 3], expected [T, r] and [K, r]");
}
