#include "ops/concat.h"

#include "ops/shape.h"
#include "tests/support/counting.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// The parts one after another along `axis`, a part at a time.
Numbers joined(const std::vector<Numbers>& parts, int axis) {
  Dims shape = parts[0].shape;
  shape[axis] = 0;
  for (const Numbers& part : parts) shape[axis] += part.shape[axis];
  Numbers y(shape);
  int64_t begin = 0;
  for (const Numbers& part : parts) {
    for_each_index(part.shape, [&](const Dims& index) {
      Dims place = index;
      place[axis] += begin;
      y.at(place) = part.at(index);
    });
    begin += part.shape[axis];
  }
  return y;
}

std::vector<OpRow> concat_rows() {
  std::vector<OpRow> rows;
  auto add = [&](const std::vector<Dims>& shapes, int axis) {
    rows.push_back({text("concat along ", axis), shapes,
                    [axis](const std::vector<Tensor>& in) { return concat(in, axis); },
                    [axis, shapes](const std::vector<Numbers>& in) {
                      return joined(in, axis < 0 ? axis + shapes[0].size() : axis);
                    }});
  };
  add({{3}, {4}}, 0);
  add({{2, 3}, {4, 3}}, 0);
  add({{2, 3}, {2, 1}, {2, 2}}, 1);
  add({{2, 3, 4}, {2, 1, 4}}, -2);
  add({{2, 0}, {2, 3}}, -1);
  add({{0, 2}, {0, 3}}, 1);
  rows.push_back({"concat with itself",
                  {{2, 3}},
                  [](const std::vector<Tensor>& in) {
                    return concat({in[0], in[0]}, 1);
                  },
                  [](const std::vector<Numbers>& in) {
                    return joined({in[0], in[0]}, 1);
                  }});
  rows.push_back({"concat with its own views",
                  {{3, 3}},
                  [](const std::vector<Tensor>& in) {
                    return concat({transpose(in[0]), slice(in[0], 0, 1, 2)}, 0);
                  },
                  [](const std::vector<Numbers>& in) {
                    Numbers y({4, 3});
                    for (int64_t j = 0; j < 3; ++j) {
                      for (int64_t i = 0; i < 3; ++i) y(i, j) = in[0](j, i);
                      y(3, j) = in[0](1, j);
                    }
                    return y;
                  }});
  return rows;
}

/// The parts side by side along a new axis.
Numbers stacked(std::vector<Numbers> parts, int axis) {
  for (Numbers& part : parts) part.shape.insert(axis, 1);
  return joined(parts, axis);
}

std::vector<OpRow> stack_rows() {
  std::vector<OpRow> rows;
  for (const Dims& shape : {Dims{}, Dims{3}, Dims{2, 3}, Dims{0, 2}})
    for (int axis = 0; axis <= shape.size(); ++axis)
      for (int named : {axis, axis - shape.size() - 1})
        rows.push_back({text("stack along ", named),
                        {shape, shape, shape},
                        [=](const std::vector<Tensor>& in) { return stack(in, named); },
                        [=](const std::vector<Numbers>& in) { return stacked(in, axis); }});
  rows.push_back({"stack of one with itself",
                  {{2, 3}},
                  [](const std::vector<Tensor>& in) {
                    return stack({in[0], in[0]});
                  },
                  [](const std::vector<Numbers>& in) {
                    return stacked({in[0], in[0]}, 0);
                  }});
  return rows;
}

/// Parts of a size, put together again in another order.
std::vector<OpRow> split_rows() {
  std::vector<OpRow> rows;
  for (int64_t size : {1, 2, 3, 5, 9})
    rows.push_back({text("split in ", size),
                    {{2, 5}},
                    [=](const std::vector<Tensor>& in) {
                      std::vector<Tensor> parts = split(in[0], size, -1);
                      return concat({parts.rbegin(), parts.rend()}, 1);
                    },
                    [=](const std::vector<Numbers>& in) {
                      Numbers y({2, 5});
                      int64_t to = 0;
                      for (int64_t part = (5 + size - 1) / size - 1; part >= 0; --part)
                        for (int64_t j = part * size; j < std::min<int64_t>(5, (part + 1) * size);
                             ++j, ++to)
                          for (int64_t i : {0, 1}) y(i, to) = in[0](i, j);
                      return y;
                    }});
  return rows;
}

std::vector<Dims> shapes(const std::vector<Tensor>& parts) {
  std::vector<Dims> result;
  for (const Tensor& part : parts) result.push_back(part.shape());
  return result;
}

}  // namespace

TEST_CASE("concat: values and gradients") { check_rows(concat_rows()); }

TEST_CASE("stack: values and gradients") { check_rows(stack_rows()); }

TEST_CASE("split: values and gradients") { check_rows(split_rows()); }

TEST_CASE("split returns views, the last of what is left") {
  Tensor x = counting({5, 2});
  std::vector<Tensor> parts = split(x, 2);
  CHECK(shapes(parts) == std::vector<Dims>{{2, 2}, {2, 2}, {1, 2}});
  CHECK(parts[2].values() == std::vector<Scalar>{8, 9});
  for (const Tensor& part : parts) CHECK(part.shares_storage(x));
  CHECK(shapes(split(Tensor::zeros({0, 3}), 2)) == std::vector<Dims>{{0, 3}});
  CHECK(shapes(split(Tensor::zeros({2, 0}), 1)) == std::vector<Dims>{{1, 0}, {1, 0}});
  CHECK(shapes(split(x, std::numeric_limits<int64_t>::max())) == std::vector<Dims>{{5, 2}});
}

TEST_CASE("concat copies where there is more than one") {
  Tensor x = Tensor::zeros({2, 3, 8});
  CHECK(concat({x}, 0).shares_storage(x));
  CHECK(concat({Tensor(), x}, 0).shares_storage(x));
  CHECK_FALSE(concat({x, x}, 0).shares_storage(x));
}

TEST_CASE("concat passes over undefined tensors") {
  Tensor x = Tensor::from({2}, std::vector<Scalar>{1, 2}),
         y = Tensor::from({1}, std::vector<Scalar>{3});
  CHECK(concat({Tensor(), x, Tensor(), y}, 0).values() == std::vector<Scalar>{1, 2, 3});
}

TEST_CASE("parts that do not fit are refused by name") {
  Tensor x = Tensor::zeros({2, 3, 8});
  CHECK(refusal([&] {
          concat({x, Tensor::zeros({2, 4, 8})}, 0);
        }) == "concat: [2, 4, 8] beside [2, 3, 8] along axis 0");
  CHECK(refusal([&] {
          concat({x, Tensor::zeros({2, 3})}, 0);
        }) == "concat: [2, 3] beside [2, 3, 8] along axis 0");
  CHECK(refusal([&] { concat({x, x}, 3); }) == "concat: axis 3 of a tensor with 3 axes");
  CHECK(refusal([&] { concat({Tensor()}, 0); }) == "concat: no tensors");
  CHECK(refusal([&] {
          stack({x, Tensor::zeros({2, 8})});
        }) == "stack: [2, 8] beside [2, 3, 8], expected equal shapes");
  CHECK(refusal([&] { stack({x, x}, 4); }) == "stack: axis 4 of a tensor with 4 axes");
  CHECK(refusal([&] { stack({}); }) == "stack: no tensors");
  CHECK(refusal([&] { stack({x, Tensor()}); }) == "stack: a part is undefined");
  CHECK(refusal([&] { split(x, 0); }) == "split: parts of 0, expected at least 1");
  CHECK(refusal([&] { split(x, 2, 3); }) == "split: axis 3 of a tensor with 3 axes");
}
