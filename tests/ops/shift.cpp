#include "ops/shift.h"

#include "core/accumulate.h"
#include "core/machine/allocator.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using Scalars = std::vector<Scalar>;

/// What rel_shift says of entry (i, j): column j + T - 1 - i of row i; beyond the row's end comes
/// the padding zero of the next row and then its columns, and so on.
Bounded shifted_entry(const Numbers& x, Dims index) {
  int64_t T = x.shape[-2], K = x.shape[-1];
  int64_t column = index[-1] + T - 1 - index[-2];
  for (; column > K; column -= K + 1) ++index[-2];
  index[-1] = column;
  return column == K ? Bounded(0) : x.at(index);
}

Numbers rel_shift_of(const Numbers& x, bool zero_triu) {
  Numbers y(x.shape);
  int64_t T = x.shape[-2], K = x.shape[-1];
  for_each_index(x.shape, [&](const Dims& index) {
    bool wrapped = index[-1] - index[-2] > K - T;
    if (!(zero_triu && wrapped)) y.at(index) = shifted_entry(x, index);
  });
  return y;
}

/// Row i moved right by i; on the left comes the end of the row above, its padding zero last.
Numbers shift_right_of(const Numbers& x) {
  Numbers y(x.shape);
  int64_t K = x.shape[-1];
  for_each_index(x.shape, [&](const Dims& index) {
    // Counted back from its own column 0: -1 is the padding of the row above, -2 its last column.
    // A row further up is K + 1 away.
    Dims from = index;
    int64_t column = index[-1] - index[-2];
    for (; column < -1; column += K + 1) --from[-2];
    from[-1] = column;
    if (column >= 0) y.at(index) = x.at(from);
  });
  return y;
}

/// Pad, flatten, drop, read in rows of K: as the papers' code does, with copies.
Numbers by_the_papers(const Numbers& x, bool left) {
  Numbers y(x.shape);
  int64_t T = x.shape[-2], K = x.shape[-1], matrices = product(x.shape) / (T * K);
  for (int64_t m = 0; m < matrices; ++m) {
    std::vector<Bounded> flat;
    for (int64_t i = 0; i < T; ++i) {
      if (left) flat.emplace_back(0);
      for (int64_t j = 0; j < K; ++j)
        flat.push_back(x.values[static_cast<size_t>((m * T + i) * K + j)]);
      if (!left) flat.emplace_back(0);
    }
    auto first = flat.begin() + (left ? T : 0);
    std::copy(first, first + T * K, y.values.begin() + m * T * K);
  }
  return y;
}

const std::vector<Dims> matrices = {{1, 1}, {1, 4},    {4, 1},       {3, 3},    {3, 5},
                                    {5, 3}, {2, 3, 4}, {2, 2, 3, 5}, {2, 0, 3}, {0, 3}};

Numbers padded_of(const Numbers& x, int64_t begin) {
  Dims shape = x.shape;
  shape[-1] += 1;
  Numbers y(shape);
  for_each_index(x.shape, [&](Dims index) {
    const Bounded& value = x.at(index);
    index[-1] += begin;
    y.at(index) = value;
  });
  return y;
}

std::vector<OpRow> shift_rows() {
  using In = std::vector<Tensor>;
  using Reference = std::vector<Numbers>;
  std::vector<OpRow> rows;
  for (const Dims& shape : matrices) {
    rows.push_back({"pad_left",
                    {shape},
                    [](const In& in) { return pad_left(in[0]); },
                    [](const Reference& in) { return padded_of(in[0], 1); }});
    rows.push_back({"pad_right",
                    {shape},
                    [](const In& in) { return pad_right(in[0]); },
                    [](const Reference& in) { return padded_of(in[0], 0); }});
    rows.push_back({"rel_shift",
                    {shape},
                    [](const In& in) { return rel_shift(in[0]); },
                    [](const Reference& in) { return rel_shift_of(in[0], false); }});
    rows.push_back({"rel_shift, zero_triu",
                    {shape},
                    [](const In& in) { return rel_shift(in[0], true); },
                    [](const Reference& in) { return rel_shift_of(in[0], true); }});
    rows.push_back({"shift_right",
                    {shape},
                    [](const In& in) { return shift_right(in[0]); },
                    [](const Reference& in) { return shift_right_of(in[0]); }});
  }
  return rows;
}

/// y[…, i, 1 + j] = Σ_d a[…, i, d] b[…, j, d], and 0 in column 0.
Numbers left_padded_of(const Numbers& a, const Numbers& b) {
  Dims shape = a.shape;
  shape[-1] = b.shape[-2] + 1;
  Numbers y(shape);
  for_each_index(shape, [&](const Dims& index) {
    if (index[-1] == 0) return;
    Dims left = index, right = index;
    right[-2] = index[-1] - 1;
    for (int64_t d = 0; d < a.shape[-1]; ++d) {
      left[-1] = right[-1] = d;
      y.at(index) += a.at(left) * b.broadcast(right);
    }
  });
  return y;
}

std::vector<OpRow> product_rows() {
  struct Case {
    Dims a, b;
  };
  std::vector<OpRow> rows;
  for (const auto& [a, b] : std::vector<Case>{{{1, 1}, {1, 1}},
                                              {{3, 2}, {5, 2}},
                                              {{5, 3}, {3, 3}},
                                              {{2, 3, 2}, {4, 2}},
                                              {{2, 3, 2}, {2, 4, 2}},
                                              {{2, 2, 3, 2}, {2, 4, 2}},
                                              {{2, 2, 3, 2}, {2, 1, 3, 2}},
                                              {{3, 0}, {2, 0}},
                                              {{3, 2}, {0, 2}},
                                              {{0, 2}, {3, 2}}})
    rows.push_back({"matmul_left_padded",
                    {a, b},
                    [](const std::vector<Tensor>& in) { return matmul_left_padded(in[0], in[1]); },
                    [](const std::vector<Numbers>& in) { return left_padded_of(in[0], in[1]); }});
  rows.push_back({"matmul_left_padded of one tensor",
                  {{2, 3, 2}},
                  [](const std::vector<Tensor>& in) { return matmul_left_padded(in[0], in[0]); },
                  [](const std::vector<Numbers>& in) { return left_padded_of(in[0], in[0]); }});
  rows.push_back({"scores by position",
                  {{2, 3, 2}, {5, 2}},
                  [](const std::vector<Tensor>& in) {
                    return rel_shift_view(matmul_left_padded(in[0], in[1]));
                  },
                  [](const std::vector<Numbers>& in) {
                    Numbers padded = left_padded_of(in[0], in[1]), scores({2, 3, 5});
                    for_each_index(scores.shape, [&](Dims index) {
                      Bounded& score = scores.at(index);
                      ++index[-1];
                      score = padded.at(index);
                    });
                    return rel_shift_of(scores, false);
                  }});
  return rows;
}

/// y(b, h, i, j) = Σ_d q(b, h, i, d) rows(j + T - 1 - i, h, d), for rows of the distances K - 1 …
/// 1 - T. What stands in the rows beyond the last is the padding and the next query's.
std::vector<OpRow> relative_rows() {
  using In = std::vector<Tensor>;
  using Reference = std::vector<Numbers>;
  std::vector<OpRow> rows;
  for (auto sizes : {std::pair<int64_t, int64_t>{3, 3}, {2, 5}, {4, 2}, {1, 3}, {3, 1}})
    for (bool future : {false, true}) {
      constexpr int64_t B = 2, H = 2, D = 3;
      int64_t T = sizes.first, K = sizes.second, n = future ? K + T - 1 : K;
      rows.push_back({text("relative_product, ", n, " distances"),
                      {{B, H, T, D}, {n, H, D}},
                      [=](const In& in) { return relative_product(in[0], in[1], K); },
                      [=](const Reference& in) {
                        Numbers by_distance({B, H, T, n});
                        for_each_index(by_distance.shape, [&](const Dims& x) {
                          for (int64_t d = 0; d < D; ++d)
                            by_distance.at(x) += in[0](x[0], x[1], x[2], d) * in[1](x[3], x[1], d);
                        });
                        Numbers y({B, H, T, K});
                        for_each_index(y.shape, [&](const Dims& x) {
                          y.at(x) = shifted_entry(by_distance, x);
                        });
                        return y;
                      }});
      rows.push_back({text("relative_key_product, ", n, " distances"),
                      {{B, H, K, D}, {n, n % 2 ? H : 1, D}},
                      [=](const In& in) { return relative_key_product(in[0], in[1], T); },
                      [=](const Reference& in) {
                        Numbers y({B, H, T, K});
                        for_each_index(y.shape, [&](const Dims& x) {
                          int64_t row = x[3] + T - 1 - x[2], head = n % 2 ? x[1] : 0;
                          for (int64_t d = 0; row < n && d < D; ++d)
                            y.at(x) += in[0](x[0], x[1], x[3], d) * in[1](row, head, d);
                        });
                        return y;
                      }});
      rows.push_back({text("relative_bias, ", n, " distances"),
                      {{n, H}},
                      [=](const In& in) { return relative_bias(in[0], T, K); },
                      [=](const Reference& in) {
                        Numbers by_distance({H, T, n});
                        for_each_index(by_distance.shape, [&](const Dims& x) {
                          by_distance.at(x) = in[0](x[2], x[0]);
                        });
                        Numbers y({H, T, K});
                        for_each_index(y.shape, [&](const Dims& x) {
                          y.at(x) = shifted_entry(by_distance, x);
                        });
                        return y;
                      }});
    }
  return rows;
}

/// A padded matrix of zeros, of `rows` rows with `gap` unused columns behind each.
Tensor with_gaps(int64_t rows, int64_t columns, int64_t gap) {
  return slice(Tensor::zeros({rows, columns + gap}), 1, 0, columns);
}

}  // namespace

TEST_CASE("shifts: values and gradients") { check_rows(shift_rows()); }

TEST_CASE("matmul_left_padded: values and gradients") { check_rows(product_rows()); }

TEST_CASE("relative products and relative_bias: values and gradients") {
  check_rows(relative_rows());
}

TEST_CASE("relative_bias: every entry is that of its distance when the future has rows too") {
  // rows[n] is the score of distance K - 1 - n.
  constexpr int64_t T = 3, K = 5;
  Tensor rows = Tensor::empty({K + T - 1, 1});
  for (int64_t n = 0; n < K + T - 1; ++n) rows.mutable_data()[n] = static_cast<Scalar>(K - 1 - n);
  Tensor y = relative_bias(rows, T, K);
  for_each_index(y.shape(), [&](const Dims& x) {
    CHECK(numbers(y).at(x).value == static_cast<double>(K - T + x[1] - x[2]));
  });
}

TEST_CASE("the index oracles agree with padding, flattening and dropping") {
  for (const Dims& shape : matrices) {
    if (product(shape) == 0) continue;
    CAPTURE(shape);
    Tensor x = RandomValues(2).tensor(shape);
    CHECK(mismatch(rel_shift(x), by_the_papers(numbers(x), true)) == "");
    CHECK(mismatch(shift_right(x), by_the_papers(numbers(x), false)) == "");
  }
}

TEST_CASE("rel_shift: the example above its declaration") {
  Tensor x = Tensor::from({3, 3}, Scalars{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(rel_shift(x).values() == Scalars{3, 0, 4, 5, 6, 0, 7, 8, 9});
  CHECK(rel_shift(x, true).values() == Scalars{3, 0, 0, 5, 6, 0, 7, 8, 9});
}

TEST_CASE("rel_shift: up to the diagonal, distances become positions") {
  // x[i, k] is the score of distance K - 1 - k: after the shift it stands where that is M + i - j.
  constexpr int64_t T = 4, K = 7, M = K - T;
  Tensor x = Tensor::empty({T, K});
  for (int64_t i = 0; i < T; ++i)
    for (int64_t k = 0; k < K; ++k)
      x.mutable_data()[i * K + k] = static_cast<Scalar>(100 * i + (K - 1 - k));
  std::vector<Scalar> y = rel_shift(x).values(), zeroed = rel_shift(x, true).values();
  for (int64_t i = 0; i < T; ++i)
    for (int64_t j = 0; j < K; ++j) {
      auto at = static_cast<size_t>(i * K + j);
      int64_t distance = M + i - j;
      if (distance >= 0) CHECK(y[at] == static_cast<Scalar>(100 * i + distance));
      CHECK(zeroed[at] == (distance >= 0 ? y[at] : 0));
    }
}

TEST_CASE("shift_right: what enters on the left is the end of the row above") {
  Tensor x = Tensor::from({3, 3}, Scalars{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(shift_right(x).values() == Scalars{1, 2, 3, 0, 4, 5, 6, 0, 7});

  Tensor row = Tensor::from({5}, Scalars{1, 2, 3, 4, 5});
  Scalars shifted{1, 2, 3, 4, 5,  //
                  0, 1, 2, 3, 4,  //
                  5, 0, 1, 2, 3,  //
                  4, 5, 0, 1, 2,  //
                  3, 4, 5, 0, 1};
  CHECK(shift_right(expand(row, {5, 5})).values() == shifted);
  shifted.resize(15);
  CHECK(shift_right(expand(row, {3, 5})).values() == shifted);
}

TEST_CASE("rel_shift_view shares the storage and allocates nothing") {
  Tensor padded = RandomValues(4).tensor({2, 3, 4, 6});
  AllocatorCounters before = allocator_counters();
  Tensor shifted = rel_shift_view(padded);
  AllocatorCounters after = allocator_counters();
  CHECK(shifted.shares_storage(padded));
  CHECK(shifted.shape() == Dims{2, 3, 4, 5});
  CHECK(shifted.data() == padded.data() + 4);
  CHECK(after.calls == before.calls);
  CHECK(after.system_allocations == before.system_allocations);
}

TEST_CASE("rel_shift_view: its gradient misses the first T, which get zeros") {
  Tensor padded = RandomValues(4).tensor({3, 4}).require_gradient();
  accumulate(padded.open_gradient(), Tensor::full({3, 4}, not_a_number));
  padded.zero_gradient();
  Tape tape;
  Tensor shifted = rel_shift_view(padded);
  CHECK(tape.size() == 0);
  tape.backward(shifted * Tensor::full({3, 3}, 2), Tensor::full({3, 3}, 1));
  CHECK(padded.gradient().values() == Scalars{0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2});
}

TEST_CASE("matmul_left_padded equals pad_left of the product, bits of column 0 included") {
  RandomValues random(6);
  Tensor a = random.tensor({2, 3, 4}), b = random.tensor({2, 5, 4});
  Tensor padded = matmul_left_padded(a, b), expected = pad_left(matmul(a, transpose(b)));
  Numbers products = left_padded_of(numbers(a), numbers(b));
  CHECK(mismatch(padded, products) == "");
  CHECK(mismatch(expected, products) == "");
  CHECK(same_bits(slice(padded, -1, 0, 1), Tensor::zeros({2, 3, 1})));
  CHECK(same_bits(slice(expected, -1, 0, 1), Tensor::zeros({2, 3, 1})));
}

TEST_CASE("matmul_left_padded passes nothing on from column 0") {
  RandomValues random(6);
  Tensor a = random.tensor({3, 4}).require_gradient(), b = random.tensor({5, 4}).require_gradient();
  Tensor cotangent = random.tensor({3, 6});
  auto gradients = [&](Scalar of_column) {
    for (int64_t i = 0; i < 3; ++i) cotangent.mutable_data()[i * 6] = of_column;
    a.zero_gradient();
    b.zero_gradient();
    Tape tape;
    tape.backward(matmul_left_padded(a, b), cotangent);
    return std::vector{a.gradient().values(), b.gradient().values()};
  };
  auto expected = gradients(0), got = gradients(not_a_number);
  CHECK(same_bits(got[0], expected[0]));
  CHECK(same_bits(got[1], expected[1]));
}

TEST_CASE("shifts refuse what they cannot read, by name") {
  auto zeros = [](const Dims& shape) { return Tensor::zeros(shape); };
  CHECK(refusal([&] { rel_shift_view(with_gaps(3, 4, 1)); }) ==
        "rel_shift: [3, 4], expected rows without gaps in or between them");
  CHECK(refusal([&] {
          rel_shift_view(transpose(zeros({4, 3})));
        }) == "rel_shift: [3, 4], expected rows without gaps in or between them");
  CHECK(refusal([&] { rel_shift_view(zeros({4})); }) ==
        "rel_shift: [4], expected a padded […, T, K+1]");
  CHECK(refusal([&] { rel_shift(zeros({4})); }) == "rel_shift: [4], expected […, T, K]");
  CHECK(refusal([&] { rel_shift(zeros({})); }) == "rel_shift: [], expected […, T, K]");
  CHECK(refusal([&] { shift_right(zeros({})); }) == "shift_right: [], expected […, T, K]");
  auto product = [&](const Dims& a, const Dims& b) {
    return refusal([&] { matmul_left_padded(zeros(a), zeros(b)); });
  };
  const char* expected = ": expected […, T, D] and […, K, D]";
  CHECK(product({3, 4}, {3, 5}) == text("matmul_left_padded: [3, 4] with [3, 5]", expected));
  CHECK(product({2, 3, 4}, {3, 3, 4}) ==
        text("matmul_left_padded: [2, 3, 4] with [3, 3, 4]", expected));
  CHECK(product({3, 4}, {2, 3, 4}) == text("matmul_left_padded: [3, 4] with [2, 3, 4]", expected));
  CHECK(refusal([&] {
          relative_product(zeros({2, 2, 3, 4}), zeros({3, 2, 5}), 3);
        }) ==
        "relative_product: [2, 2, 3, 4] with [3, 2, 5] for 3 keys: expected [B, H, T, D] and "
        "[n, H, D] with 0 to n keys");
  for (int64_t K : {-1, 4})
    CHECK(refusal([&] {
            relative_product(zeros({2, 2, 3, 4}), zeros({3, 2, 4}), K);
          }) == text("relative_product: [2, 2, 3, 4] with [3, 2, 4] for ", K,
                     " keys: expected [B, H, T, D] and [n, H, D] with 0 to n keys"));
  CHECK(
      refusal([&] {
        relative_key_product(zeros({2, 2, 3, 4}), zeros({2, 2, 4}), 5);
      }) ==
      "relative_key_product: [2, 2, 3, 4] with [2, 2, 4] for 5 queries: expected [B, H, K, D] and "
      "[n, H, D] with 0 to n keys, and 0 queries or more");
  CHECK(refusal([&] {
          relative_bias(zeros({3, 2}), 3, 4);
        }) ==
        "relative_bias: [3, 2] for 3 queries and 4 keys: expected [n, H] with 0 to n keys, and 0 "
        "queries or more");
  CHECK(refusal([&] {
          relative_bias(zeros({3, 2}), -1, 3);
        }) ==
        "relative_bias: [3, 2] for -1 queries and 3 keys: expected [n, H] with 0 to n keys, and 0 "
        "queries or more");
  CHECK(
      refusal([&] {
        relative_key_product(zeros({2, 2, 3, 4}), zeros({3, 2, 4}), -1);
      }) ==
      "relative_key_product: [2, 2, 3, 4] with [3, 2, 4] for -1 queries: expected [B, H, K, D] and "
      "[n, H, D] with 0 to n keys, and 0 queries or more");
}
