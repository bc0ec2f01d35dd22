#include "ops/reduce.h"

#include <algorithm>
#include <cmath>

#include "core/machine/parallel.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// Adds every element to the one at its index, with 0 along the summed axes.
Numbers sum_of(const Numbers& x, const Dims& axes) {
  Dims shape = x.shape;
  for (int64_t axis : axes) shape[static_cast<int>(axis)] = 1;
  Numbers y(shape);
  for_each_index(x.shape, [&](const Dims& index) {
    Dims place = index;
    for (int64_t axis : axes) place[static_cast<int>(axis)] = 0;
    y.at(place) += x.at(index);
  });
  return y;
}

Numbers mean_of(const Numbers& x, const Dims& axes) {
  Numbers y = sum_of(x, axes);
  double terms = static_cast<double>(x.values.size()) / static_cast<double>(y.values.size());
  for (Bounded& value : y.values) value = value / Bounded(terms);
  return y;
}

Dims all_axes(const Dims& shape) {
  Dims axes;
  for (int axis = 0; axis < shape.size(); ++axis) axes.push_back(axis);
  return axes;
}

/// Of shape [].
Numbers single(Numbers x) {
  x.shape = {};
  return x;
}

Numbers maximum_of(const Numbers& x, int axis) {
  Dims shape = x.shape;
  shape[axis] = 1;
  Numbers y(shape);
  for_each_index(shape, [&](const Dims& first) {
    Dims index = first;
    y.at(first) = x.at(index);
    for (int64_t n = 1; n < x.shape[axis]; ++n) {
      index[axis] = n;
      if (x.at(index).value > y.at(first).value) y.at(first) = x.at(index);
    }
  });
  return y;
}

/// Without the axes, which have size 1.
Numbers without(Numbers x, const Dims& axes) {
  Dims shape;
  for (int axis = 0; axis < x.shape.size(); ++axis) {
    auto is_this = [&](int64_t named) { return named == axis || named + x.shape.size() == axis; };
    if (std::none_of(axes.begin(), axes.end(), is_this)) shape.push_back(x.shape[axis]);
  }
  x.shape = shape;
  return x;
}

struct ReductionCase {
  Dims shape, axes;
};

const std::vector<ReductionCase> reduction_cases = {
    {{}, {}},
    {{1}, {0}},
    {{7}, {0}},
    {{7}, {}},
    {{3, 5}, {0}},
    {{3, 5}, {1}},
    {{3, 5}, {-1}},
    {{3, 5}, {0, 1}},
    {{2, 3, 4}, {0}},
    {{2, 3, 4}, {1}},
    {{2, 3, 4}, {2}},
    {{2, 3, 4}, {0, 2}},
    {{2, 3, 4}, {0, 1}},
    {{2, 3, 4}, {1, 2}},
    {{2, 1, 3, 2}, {1, 3}},
    {{3, 9}, {1}},
    {{9, 3}, {0}},
    {{2, 0}, {0}},
    {{0, 3}, {0}},
};

std::vector<OpRow> sum_rows() {
  std::vector<OpRow> rows;
  for (const auto& [shape, axes] : reduction_cases) {
    using In = std::vector<Numbers>;
    rows.push_back({text("sum over ", axes),
                    {shape},
                    [axes = axes](const std::vector<Tensor>& in) { return sum(in[0], axes); },
                    [axes = axes](const In& in) { return without(sum_of(in[0], axes), axes); }});
    rows.push_back({text("sum over ", axes, " that stay"),
                    {shape},
                    [axes = axes](const std::vector<Tensor>& in) { return sum(in[0], axes, true); },
                    [axes = axes](const In& in) { return sum_of(in[0], axes); }});
    rows.push_back({"sum of all",
                    {shape},
                    [](const std::vector<Tensor>& in) { return sum(in[0]); },
                    [](const In& in) { return single(sum_of(in[0], all_axes(in[0].shape))); }});
    if (product(shape) == 0) continue;
    rows.push_back({text("mean over ", axes),
                    {shape},
                    [axes = axes](const std::vector<Tensor>& in) { return mean(in[0], axes); },
                    [axes = axes](const In& in) { return without(mean_of(in[0], axes), axes); }});
    rows.push_back(
        {text("mean over ", axes, " that stay"),
         {shape},
         [axes = axes](const std::vector<Tensor>& in) { return mean(in[0], axes, true); },
         [axes = axes](const In& in) { return mean_of(in[0], axes); }});
    rows.push_back({"mean of all",
                    {shape},
                    [](const std::vector<Tensor>& in) { return mean(in[0]); },
                    [](const In& in) { return single(mean_of(in[0], all_axes(in[0].shape))); }});
  }
  return rows;
}

/// Drawn from a wide range, so that no difference quotient straddles a change of the greatest.
std::vector<OpRow> maximum_rows() {
  std::vector<OpRow> rows;
  for (const ReductionCase& c :
       {ReductionCase{{1}, {0}}, ReductionCase{{7}, {0}}, ReductionCase{{3, 5}, {0}},
        ReductionCase{{3, 5}, {1}}, ReductionCase{{2, 3, 4}, {1}}, ReductionCase{{2, 3, 4}, {2}},
        ReductionCase{{2, 1, 3}, {1}}, ReductionCase{{0, 3}, {1}}}) {
    auto axis = static_cast<int>(c.axes[0]);
    for (bool keepdim : {false, true})
      rows.push_back({text("maximum over ", axis),
                      {c.shape},
                      [=](const std::vector<Tensor>& in) { return maximum(in[0], axis, keepdim); },
                      [=](const std::vector<Numbers>& in) {
                        Numbers y = maximum_of(in[0], axis);
                        return keepdim ? y : without(y, {axis});
                      },
                      -1000,
                      1000});
  }
  return rows;
}

std::vector<OpRow> cumsum_rows() {
  std::vector<OpRow> rows;
  for (const ReductionCase& c :
       {ReductionCase{{1}, {0}}, ReductionCase{{7}, {-1}}, ReductionCase{{3, 5}, {0}},
        ReductionCase{{3, 5}, {1}}, ReductionCase{{2, 3, 4}, {1}}, ReductionCase{{2, 3, 4}, {-3}},
        ReductionCase{{2, 0}, {0}}, ReductionCase{{2, 0}, {1}}}) {
    auto axis = static_cast<int>(c.axes[0]);
    rows.push_back({text("cumsum along ", axis),
                    {c.shape},
                    [axis](const std::vector<Tensor>& in) { return cumsum(in[0], axis); },
                    [axis](const std::vector<Numbers>& in) {
                      Numbers y = in[0];
                      for_each_index(y.shape, [&](Dims index) {
                        Dims before = index;
                        if (--before[axis] >= 0) y.at(index) = y.at(before) + in[0].at(index);
                      });
                      return y;
                    }});
  }
  return rows;
}

}  // namespace

TEST_CASE("cumsum: values and gradients") { check_rows(cumsum_rows()); }

TEST_CASE("cumsum adds up in double, and carries a NaN on") {
  constexpr int64_t n = 1'000'000;
  Tensor tenths = Tensor::full({n}, Scalar(0.1));
  double exact = n * static_cast<double>(Scalar(0.1));
  CHECK(static_cast<double>(cumsum(tenths, 0)[-1].item()) == doctest::Approx(exact).epsilon(1e-7));
  std::vector<Scalar> sums = cumsum(Tensor::from({4}, {1, not_a_number, 2, 3}), 0).values();
  CHECK(sums[0] == 1);
  for (size_t at : {1, 2, 3}) CHECK(std::isnan(sums[at]));
}

TEST_CASE("sum and mean: values and gradients") { check_rows(sum_rows()); }

TEST_CASE("maximum: values and gradients") { check_rows(maximum_rows()); }

TEST_CASE("the mean of nothing is NaN") {
  CHECK(std::isnan(mean(Tensor::zeros({0})).item()));
  CHECK(std::isnan(mean(Tensor::zeros({2, 0}), {1}).values()[1]));
  CHECK(sum(Tensor::zeros({2, 0}), {1}).values() == std::vector<Scalar>{0, 0});
}

TEST_CASE("maximum: the gradient goes to the first of equals, and NaN is the greatest") {
  Tensor x = Tensor::from({2, 4}, std::vector<Scalar>{1, 3, 3, 2, 5, not_a_number, 6, not_a_number})
                 .require_gradient();
  Tape tape;
  Tensor y = maximum(x, -1, true);
  CHECK(y.values()[0] == 3);
  CHECK(std::isnan(y.values()[1]));
  tape.backward(y, Tensor::from({2, 1}, std::vector<Scalar>{10, 20}));
  CHECK(x.gradient().values() == std::vector<Scalar>{0, 10, 0, 0, 0, 20, 0, 0});
}

TEST_CASE("sums have the same bits whatever the number of threads") {
  RandomValues random(11);
  Tensor x = random.tensor({300, 1000});
  for (const Dims& axes : {Dims{0}, Dims{1}, Dims{0, 1}}) {
    CAPTURE(axes);
    std::vector<Scalar> alone;
    for (int threads : {1, 2, 4})
      with_threads(threads, [&] {
        std::vector<Scalar> sums = sum(x, axes).values();
        for (int64_t axis : axes) {
          x.require_gradient().zero_gradient();
          Tape tape;
          Tensor running = cumsum(x, static_cast<int>(axis));
          tape.backward(running, x.detach());
          for (const Tensor& part : {running, x.gradient()})
            for (Scalar value : part.values()) sums.push_back(value);
        }
        if (threads == 1) alone = sums;
        CHECK(same_bits(sums, alone));
      });
  }
}

TEST_CASE("long sums: tiles and groups meet without a seam") {
  // Integers, so that every order of addition is exact.
  constexpr int64_t rows = 150, columns = 9001;
  Tensor x = Tensor::empty({rows, columns});
  std::vector<Scalar> of_rows(rows), of_columns(columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      auto value = static_cast<Scalar>((3 * i + 5 * j) % 7 - 3);
      x.mutable_data()[i * columns + j] = value;
      of_rows[static_cast<size_t>(i)] += value;
      of_columns[static_cast<size_t>(j)] += value;
    }
  CHECK(sum(x, {1}).values() == of_rows);
  CHECK(sum(x, {0}).values() == of_columns);
  CHECK(sum(transpose(x), {0}).values() == of_rows);
  CHECK(sum(transpose(x), {1}).values() == of_columns);
}

TEST_CASE("reductions name the axis they cannot find") {
  Tensor x = Tensor::zeros({2, 0});
  CHECK(refusal([&] { sum(x, {2}); }) == "sum: axis 2 of a tensor with 2 axes");
  CHECK(refusal([&] { sum(x, {1, -1}); }) == "sum: axes [1, -1] of [2, 0] name one twice");
  CHECK(refusal([&] { cumsum(x, 2); }) == "cumsum: axis 2 of a tensor with 2 axes");
  CHECK(refusal([&] { maximum(x, -3); }) == "maximum: axis -3 of a tensor with 2 axes");
  CHECK(refusal([&] { maximum(x, 1); }) == "maximum: axis 1 of [2, 0] is empty");
}
