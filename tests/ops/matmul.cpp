#include "ops/matmul.h"

#include "core/machine/parallel.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// c[…, i, k] = Σ_j a[…, i, j] b[…, j, k], where c has `shape` and the axes … broadcast.
Numbers product_of(const Numbers& a, const Numbers& b, const Dims& shape) {
  Numbers c(shape);
  for_each_index(shape, [&](const Dims& index) {
    Dims left = index, right = index;
    for (int64_t j = 0; j < a.shape[-1]; ++j) {
      left[-1] = j;
      right[-2] = j;
      // Of the two axes of the matrices, those of size 1 are at index 0 anyway.
      c.at(index) += a.broadcast(left) * b.broadcast(right);
    }
  });
  return c;
}

struct ProductCase {
  Dims a, b, c;
};

const std::vector<ProductCase> product_cases = {
    {{1, 1}, {1, 1}, {1, 1}},
    {{3, 4}, {4, 5}, {3, 5}},
    {{1, 4}, {4, 5}, {1, 5}},
    {{3, 4}, {4, 1}, {3, 1}},
    {{3, 1}, {1, 5}, {3, 5}},
    {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}},
    {{2, 3, 4}, {4, 5}, {2, 3, 5}},
    {{3, 4}, {2, 4, 5}, {2, 3, 5}},
    {{1, 3, 4}, {2, 4, 5}, {2, 3, 5}},
    {{2, 1, 3, 4}, {3, 4, 2}, {2, 3, 3, 2}},
    {{2, 2, 3, 4}, {2, 1, 4, 3}, {2, 2, 3, 3}},
    {{2, 1, 3, 2}, {1, 2, 2, 3}, {2, 2, 3, 3}},
    // Nothing to add up, no rows, no columns, no matrices.
    {{3, 0}, {0, 5}, {3, 5}},
    {{2, 3, 0}, {0, 5}, {2, 3, 5}},
    {{0, 4}, {4, 5}, {0, 5}},
    {{3, 4}, {4, 0}, {3, 0}},
    {{0, 3, 4}, {4, 5}, {0, 3, 5}},
};

std::vector<OpRow> matmul_rows() {
  std::vector<OpRow> rows;
  for (const auto& [a, b, c] : product_cases)
    rows.push_back(
        {"matmul",
         {a, b},
         [](const std::vector<Tensor>& in) { return matmul(in[0], in[1]); },
         [c = c](const std::vector<Numbers>& in) { return product_of(in[0], in[1], c); }});
  // The same tensor twice: x xᵀ.
  for (const auto& [x, c] : {std::pair(Dims{3, 4}, Dims{3, 3}), {Dims{2, 3, 4}, Dims{2, 3, 3}}})
    rows.push_back({"x transposed x",
                    {x},
                    [](const std::vector<Tensor>& in) { return matmul(in[0], transpose(in[0])); },
                    [c = c](const std::vector<Numbers>& in) {
                      Numbers y(c);
                      for_each_index(c, [&](const Dims& index) {
                        Dims left = index, right = index;
                        right[-2] = index[-1];
                        for (int64_t j = 0; j < in[0].shape[-1]; ++j) {
                          left[-1] = right[-1] = j;
                          y.at(index) += in[0].at(left) * in[0].at(right);
                        }
                      });
                      return y;
                    }});
  return rows;
}

/// y[…, p] = Σ_n x[…, n] W[p, n] + bias[p], bias[0] or bias[…, p]
Numbers linear_of(const std::vector<Numbers>& in) {
  const Numbers &x = in[0], &weight = in[1];
  Dims shape = x.shape;
  shape[-1] = weight.shape[0];
  Numbers y(shape);
  for_each_index(shape, [&](const Dims& index) {
    int64_t p = index[-1];
    if (in.size() > 2)
      y.at(index) = in[2].shape == Dims{1} ? in[2](0)
                    : in[2].shape.size() == 1 ? in[2](p)
                                              : in[2].at(index);
    Dims from = index;
    for (int64_t n = 0; n < x.shape[-1]; ++n) {
      from[-1] = n;
      y.at(index) += x.at(from) * weight(p, n);
    }
  });
  return y;
}

std::vector<OpRow> linear_rows() {
  std::vector<OpRow> rows;
  for (const Dims& x : {Dims{4}, Dims{3, 4}, Dims{2, 3, 4}, Dims{2, 1, 3, 4}, Dims{0, 4}, Dims{1},
                        Dims{3, 1}, Dims{3, 0}, Dims{2, 0, 4}})
    for (int64_t P : {1, 5, 0}) {
      int64_t N = x[-1];
      rows.push_back({"linear",
                      {x, {P, N}, {P}},
                      [](const std::vector<Tensor>& in) { return linear(in[0], in[1], in[2]); },
                      linear_of});
      rows.push_back({"linear onto one number",
                      {x, {P, N}, {1}},
                      [](const std::vector<Tensor>& in) { return linear(in[0], in[1], in[2]); },
                      linear_of});
      Dims y = x;
      y[-1] = P;
      rows.push_back({"linear onto a tensor",
                      {x, {P, N}, y},
                      [](const std::vector<Tensor>& in) { return linear(in[0], in[1], in[2]); },
                      linear_of});
      rows.push_back({"linear without bias",
                      {x, {P, N}},
                      [](const std::vector<Tensor>& in) { return linear(in[0], in[1]); },
                      linear_of});
    }
  return rows;
}

}  // namespace

TEST_CASE("matmul: values and gradients in every broadcast") { check_rows(matmul_rows()); }

TEST_CASE("linear: values and gradients with and without bias") { check_rows(linear_rows()); }

TEST_CASE("matmul of many rows and matrices, on several threads") {
  // Integers, so that every order of addition is exact.
  constexpr int64_t B = 3, M = 150, N = 40, P = 33;
  auto numbers_from = [](const Dims& shape, int64_t factor) {
    Tensor x = Tensor::empty(shape);
    for (int64_t n = 0; n < x.count(); ++n)
      x.mutable_data()[n] = static_cast<Scalar>(n * factor % 11 - 5);
    return x;
  };
  Tensor a = numbers_from({B, M, N}, 3).require_gradient();
  Tensor b = numbers_from({N, P}, 7).require_gradient();
  Tensor dc = numbers_from({B, M, P}, 5);
  Tape tape;
  Tensor c = matmul(a, b);
  tape.backward(c, dc);
  Numbers x = numbers(a), y = numbers(b), dz = numbers(dc);
  Numbers z({B, M, P}), dx({B, M, N}), dy({N, P});
  for (int64_t i = 0; i < B; ++i)
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n)
        for (int64_t p = 0; p < P; ++p) {
          z(i, m, p).value += x(i, m, n).value * y(n, p).value;
          dx(i, m, n).value += dz(i, m, p).value * y(n, p).value;
          dy(n, p).value += x(i, m, n).value * dz(i, m, p).value;
        }
  CHECK(mismatch(c, z) == "");
  CHECK(mismatch(a.gradient(), dx) == "");
  CHECK(mismatch(b.gradient(), dy) == "");
}

TEST_CASE("matmul has the same bits whatever the number of threads") {
  RandomValues random(5);
  Tensor a = random.tensor({2, 200, 70}).require_gradient();
  Tensor b = random.tensor({70, 130}).require_gradient();
  Tensor dc = random.tensor({2, 200, 130});
  std::vector<std::vector<Scalar>> alone;
  for (int threads : {1, 2, 4}) {
    ThreadLimit limit(threads);
    a.zero_gradient();
    b.zero_gradient();
    Tape tape;
    Tensor c = matmul(a, b);
    tape.backward(c, dc);
    std::vector results{c.values(), a.gradient().values(), b.gradient().values()};
    if (threads == 1) alone = results;
    for (size_t n = 0; n < results.size(); ++n) CHECK(same_bits(results[n], alone[n]));
  }
}

TEST_CASE("products of shapes that do not fit are refused by name") {
  auto zeros = [](const Dims& shape) { return Tensor::zeros(shape); };
  CHECK(refusal([&] {
          matmul(zeros({3, 4}), zeros({5, 6}));
        }) == "matmul: [3, 4] x [5, 6]: inner sizes 4 and 5 differ");
  CHECK(refusal([&] {
          matmul(zeros({4}), zeros({4, 6}));
        }) == "matmul: [4] x [4, 6]: expected at least two axes each");
  CHECK(refusal([&] {
          matmul(zeros({2, 3, 4}), zeros({3, 4, 6}));
        }) == "matmul: [2] and [3] do not broadcast");
  CHECK(refusal([&] {
          linear(zeros({3, 4}), zeros({6, 5}));
        }) == "linear: [3, 4] with a weight of [6, 5]: expected […, N] and [P, N]");
  CHECK(refusal([&] {
          linear(zeros({3, 4}), zeros({6, 4}), zeros({5}));
        }) == "linear: [5] and [3, 6] do not broadcast");
  CHECK(refusal([&] {
          linear(zeros({1, 4}), zeros({6, 4}), zeros({3, 6}));
        }) == "linear: a bias of [3, 6] for a result of [1, 6]");
}
