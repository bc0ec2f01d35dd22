#include "ops/indexing.h"

#include <cmath>

#include "core/machine/parallel.h"
#include "ops/shape.h"
#include "tests/support/counting.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using Scalars = std::vector<Scalar>;
using Indices = std::vector<int32_t>;

Numbers gathered(const Numbers& x, int axis, const Tokens& indices) {
  Numbers y(indices.shape);
  Layout places = Layout::contiguous(indices.shape);
  for_each_index(indices.shape, [&](const Dims& index) {
    Dims from = index;
    from[axis] = indices.values[static_cast<size_t>(position(places, index))];
    y.at(index) = x.at(from);
  });
  return y;
}

std::vector<OpRow> gather_rows() {
  std::vector<OpRow> rows;
  auto add = [&](const Dims& shape, int axis, const Tokens& indices) {
    rows.push_back({text("gather along ", axis),
                    {shape},
                    [=](const std::vector<Tensor>& in) { return gather(in[0], axis, indices); },
                    [=](const std::vector<Numbers>& in) {
                      return gathered(in[0], axis < 0 ? axis + shape.size() : axis, indices);
                    }});
  };
  add({5}, 0, {{3}, {4, 0, 4}});
  add({5}, -1, {{0}, {}});
  add({3, 4}, 0, {{2, 4}, {0, 1, 2, 0, 2, 1, 2, 2}});
  add({3, 4}, 1, {{3, 6}, {0, 0, 0, 3, 3, 1, 2, 1, 0, 3, 2, 2, 1, 1, 1, 1, 1, 1}});
  add({3, 4}, 1, {{2, 1}, {3, 0}});
  add({2, 3, 4}, 1, {{2, 1, 3}, {2, 1, 0, 0, 0, 1}});
  add({2, 0}, 1, {{2, 0}, {}});
  add({0, 3}, 1, {{0, 2}, {}});
  return rows;
}

/// The k greatest by sorting a copy of each line.
Numbers greatest_of(const Numbers& x, int axis, int64_t k) {
  Dims shape = x.shape;
  shape[axis] = k;
  Numbers y(shape);
  for_each_index(shape, [&](const Dims& place) {
    if (place[axis] != 0) return;
    std::vector<Bounded> line;
    Dims index = place;
    for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis]) line.push_back(x.at(index));
    std::stable_sort(line.begin(), line.end(),
                     [](const Bounded& a, const Bounded& b) { return a.value > b.value; });
    for (index[axis] = 0; index[axis] < k; ++index[axis])
      y.at(index) = line[static_cast<size_t>(index[axis])];
  });
  return y;
}

/// Drawn from a wide range, so that no difference quotient straddles a change of the order.
std::vector<OpRow> topk_rows() {
  std::vector<OpRow> rows;
  auto add = [&](const Dims& shape, int axis, int64_t k) {
    rows.push_back({text(k, " greatest along ", axis),
                    {shape},
                    [=](const std::vector<Tensor>& in) { return topk(in[0], k, axis).values; },
                    [=](const std::vector<Numbers>& in) {
                      return greatest_of(in[0], axis < 0 ? axis + shape.size() : axis, k);
                    },
                    -1000,
                    1000});
  };
  add({7}, 0, 3);
  add({7}, 0, 7);
  add({7}, 0, 0);
  add({3, 5}, 0, 2);
  add({3, 5}, -1, 4);
  add({2, 3, 4}, 1, 1);
  add({0, 3}, 1, 2);
  add({2, 0}, 1, 0);
  return rows;
}

}  // namespace

TEST_CASE("gather: values and gradients") { check_rows(gather_rows()); }

TEST_CASE("topk: values and gradients") { check_rows(topk_rows()); }

TEST_CASE("argmax and topk: the first of equals, and NaN before all") {
  Tensor x = Tensor::from({3, 4}, {1, 3, 3, 2, 5, not_a_number, infinity, not_a_number,  //
                                   -infinity, -infinity, 0, -Scalar{0}});
  Tokens best = argmax(x, 1);
  CHECK(best.shape == Dims{3});
  CHECK(best.values == Indices{1, 1, 2});
  CHECK(argmax(x, -1, true).shape == Dims{3, 1});
  CHECK(argmax(x, 0).values == Indices{1, 1, 1, 1});
  CHECK(argmax(transpose(x), 0).values == Indices{1, 1, 2});
  CHECK(argmax(Tensor::zeros({0, 2}), 1).shape == Dims{0});

  auto [values, indices] = topk(x, 3);
  CHECK(indices.shape == Dims{3, 3});
  CHECK(indices.values == Indices{1, 2, 3, 1, 3, 2, 2, 3, 0});
  CHECK(slice(values, 0, 0, 1).values() == Scalars{3, 3, 2});
  CHECK(std::isnan(values[1][1].item()));
  CHECK(values[1][2].item() == infinity);
  CHECK(values[2].values() == Scalars{0, 0, -infinity});
}

TEST_CASE("topk: each gradient goes where its element was") {
  Tensor x = Tensor::from({2, 3}, {1, 3, 2, 6, 5, 6}).require_gradient();
  Tape tape;
  Tensor y = topk(x, 2).values;
  tape.backward(y, Tensor::from({2, 2}, {10, 20, 30, 40}));
  CHECK(x.gradient().values() == Scalars{0, 10, 20, 30, 0, 40});
}

TEST_CASE("gather: repeated indices add up with the same bits on any number of threads") {
  constexpr int64_t rows = 300, columns = 50, picked = 700;
  RandomValues random(5);
  Tensor x = random.tensor({rows, columns}), c = random.tensor({rows, picked});
  Tokens indices{{rows, picked}, {}};
  for (int64_t n = 0; n < rows * picked; ++n)
    indices.values.push_back(static_cast<int32_t>(n * n % 31));
  // In the order of the indices.
  Scalars expected(rows * columns);
  for (int64_t n = 0; n < rows * picked; ++n)
    expected[static_cast<size_t>(n / picked * columns + indices.values[static_cast<size_t>(n)])] +=
        c.data()[n];
  Scalars best;
  for (int threads : {1, 2, 4})
    with_threads(threads, [&] {
      Scalars greatest = topk(x, 20, 0).values.values();
      x.require_gradient().zero_gradient();
      Tape tape;
      tape.backward(gather(x, 1, indices), c);
      CHECK(same_bits(x.gradient().values(), expected));
      if (threads == 1) best = greatest;
      CHECK(same_bits(greatest, best));
    });
}

TEST_CASE("indices that are not there are refused by name") {
  Tensor x = Tensor::zeros({2, 3});
  CHECK(refusal([&] {
          gather(x, 1, {{1, 1}, {3}});
        }) == "gather: index 3 into axis 1 of [2, 3], expected 0 to 2");
  CHECK(refusal([&] {
          gather(x, 0, {{1, 1}, {-1}});
        }) == "gather: index -1 into axis 0 of [2, 3], expected 0 to 1");
  CHECK(refusal([&] {
          gather(x, 1, {{3, 1}, {0, 0, 0}});
        }) == "gather: indices of [3, 1] along axis 1 of [2, 3], expected no larger sizes");
  CHECK(refusal([&] {
          gather(x, 1, {{1}, {0}});
        }) == "gather: indices of [1] for [2, 3], expected as many axes");
  CHECK(refusal([&] {
          gather(x, 1, {{2, 2}, {0}});
        }) == "gather: indices: 1 values for the shape [2, 2]");
  CHECK(refusal([&] { gather(x, 2, {{1, 1}, {0}}); }) == "gather: axis 2 of a tensor with 2 axes");
  CHECK(refusal([&] { argmax(x, 2); }) == "argmax: axis 2 of a tensor with 2 axes");
  CHECK(refusal([&] { argmax(Tensor::zeros({2, 0}), 1); }) == "argmax: axis 1 of [2, 0] is empty");
  CHECK(refusal([&] { topk(x, 4); }) == "topk: 4 of axis 1 of [2, 3], expected 0 to 3");
  CHECK(refusal([&] { topk(x, -1); }) == "topk: -1 of axis 1 of [2, 3], expected 0 to 3");
}
