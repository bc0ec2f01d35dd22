// Sizes of 0 in every op, forward and backward, in memory that is full of NaN until it is written:
// an op computes, and gives each input a gradient, or refuses by its own name.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/tape.h"
#include "nn/positions.h"
#include "ops/aft.h"
#include "ops/concat.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/elementwise_loss.h"
#include "ops/embedding.h"
#include "ops/indexing.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/recurrent.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/fresh_memory.h"
#include "tests/support/mismatch.h"
#include "tests/support/random_values.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using In = std::vector<Tensor>;
using One = Tensor (*)(const Tensor&);
using Two = Tensor (*)(const Tensor&, const Tensor&);

struct EmptyRow {
  std::string name;
  std::vector<Dims> shapes;
  std::function<Tensor(const In&)> op;
};

bool all_finite(const Tensor& x) {
  return std::ranges::all_of(x.values(), [](Scalar value) { return std::isfinite(value); });
}

void check_empty(const EmptyRow& row) {
  std::string shapes;
  for (const Dims& shape : row.shapes) shapes += text(shape);
  CAPTURE(row.name);
  CAPTURE(shapes);
  RandomValues random(1);
  In in;
  for (const Dims& shape : row.shapes) in.push_back(random.tensor(shape).require_gradient());
  // What was used before is handed out again.
  NanInFreshMemory nan_in_fresh_memory;
  Tape tape;
  Tensor y = row.op(in);
  tape.backward(y, Tensor::full(y.shape(), 1));
  CHECK(all_finite(y));
  for (const Tensor& x : in) {
    REQUIRE(x.gradient().defined());
    CHECK(all_finite(x.gradient()));
    if (y.count() == 0) CHECK(same_bits(x.gradient(), Tensor::zeros(x.shape())));
  }
}

/// The shape, and it with a size of 0 in place of each of its sizes.
std::vector<Dims> with_zeros(const Dims& shape) {
  std::vector<Dims> all = {shape};
  for (int axis = 0; axis < shape.size(); ++axis) {
    all.push_back(shape);
    all.back()[axis] = 0;
  }
  return all;
}

Tensor both(const RecurrentState& state) {
  return state.c.defined() ? concat({state.h, state.c}, 1) : state.h;
}

std::vector<EmptyRow> rows_of_one() {
  std::vector<EmptyRow> rows;
  for (const Dims& shape : with_zeros({2, 3, 4})) {
    auto one = [&](const char* name, std::function<Tensor(const Tensor&)> op) {
      rows.push_back({name, {shape}, [op](const In& in) { return op(in[0]); }});
    };
    auto two = [&](const char* name, std::function<Tensor(const Tensor&, const Tensor&)> op) {
      rows.push_back({name, {shape, shape}, [op](const In& in) { return op(in[0], in[1]); }});
    };
    for (One op : {One{negate}, One{exp}, One{tanh}, One{gelu}, One{silu}, One{softplus},
                   One{log_sigmoid}, One{abs}, One{sin}})
      one("a function of elements", op);
    for (auto op : {add, subtract, multiply, divide}) two("arithmetic", op);
    one("scale", [](const Tensor& x) { return scale(x, 2); });
    one("add_scalar", [](const Tensor& x) { return add_scalar(x, 2); });
    one("pow", [](const Tensor& x) { return pow(x, 2); });
    one("clamp", [](const Tensor& x) { return clamp(x, 0, 1); });
    one("dropout", [](const Tensor& x) { return dropout(x, {.rate = 0.5}); });
    two("add_dropped",
        [](const Tensor& x, const Tensor& y) { return add_dropped(x, y, {.rate = 0.5}); });
    for (int64_t axis : {0, 1, 2}) {
      one("sum", [=](const Tensor& x) { return sum(x, {axis}); });
      one("cumsum", [=](const Tensor& x) { return cumsum(x, axis); });
      one("topk", [=](const Tensor& x) { return topk(x, 0, axis).values; });
      one("slice", [=](const Tensor& x) { return slice(x, axis, 0, 0); });
      one("flip", [=](const Tensor& x) { return exp(flip(x, axis)); });
      two("concat", [=](const Tensor& x, const Tensor& y) { return concat({x, y}, axis); });
      two("stack", [=](const Tensor& x, const Tensor& y) { return stack({x, y}, axis); });
      one("split", [=](const Tensor& x) { return concat(split(x, 2, axis), axis); });
    }
    one("sum of all", [](const Tensor& x) { return sum(x); });
    one("permute", [](const Tensor& x) { return contiguous(permute(x, {2, 0, 1})); });
    one("split_heads", [](const Tensor& x) { return merge_heads(exp(split_heads(x, 2))); });
  }
  return rows;
}

std::vector<EmptyRow> rows_of_products() {
  std::vector<EmptyRow> rows;
  for (const Dims& of : with_zeros({2, 3, 4, 5})) {
    int64_t B = of[0], M = of[1], N = of[2], P = of[3];
    rows.push_back(
        {"matmul", {{B, M, N}, {B, N, P}}, [](const In& in) { return matmul(in[0], in[1]); }});
    rows.push_back({"matmul, repeated", {{B, M, N}, {N, P}}, [](const In& in) {
                      return matmul(in[0], in[1]);
                    }});
    rows.push_back(
        {"linear", {{B, M, N}, {P, N}}, [](const In& in) { return linear(in[0], in[1], {}); }});
    rows.push_back({"linear with a bias", {{B, M, N}, {P, N}, {P}}, [](const In& in) {
                      return linear(in[0], in[1], in[2]);
                    }});
  }
  return rows;
}

std::vector<EmptyRow> rows_of_norms() {
  std::vector<EmptyRow> rows;
  for (const Dims& shape : {Dims{0, 4}, Dims{2, 0, 4}, Dims{0, 3, 4}}) {
    rows.push_back({"layer_norm", {shape, {4}, {4}}, [](const In& in) {
                      return layer_norm(in[0], in[1], in[2]);
                    }});
    rows.push_back({"deviation_norm", {shape, {4}, {4}}, [](const In& in) {
                      return deviation_norm(in[0], in[1], in[2], 1e-5);
                    }});
    rows.push_back({"rms_norm", {shape, {4}}, [](const In& in) { return rms_norm(in[0], in[1]); }});
    rows.push_back({"rms_norm of x alone", {shape}, [](const In& in) { return rms_norm(in[0]); }});
  }
  return rows;
}

std::vector<EmptyRow> rows_of_cells() {
  std::vector<EmptyRow> rows;
  for (RecurrentCell cell : {RecurrentCell::rnn, RecurrentCell::gru, RecurrentCell::lstm})
    for (const Dims& of : with_zeros({2, 3, 4})) {
      int64_t B = of[0], T = of[1], C = of[2], gates = gate_count(cell) * C;
      rows.push_back({"recurrent_step", {{B, T, gates}, {B, T, gates}, of}, [=](const In& in) {
                        return both(recurrent_step(cell, in[0], in[1], in[2]));
                      }});
      for (auto op : {recurrent_windows, composed_windows})
        for (int64_t window : {1, 3})
          rows.push_back({"windows",
                          {{B, T + window - 1, gates}, {gates, C}, {gates}},
                          [=](const In& in) { return op(cell, in[0], in[1], in[2], window); }});
    }
  return rows;
}

std::vector<EmptyRow> rows_of_aft() {
  std::vector<EmptyRow> rows;
  for (const Dims& of : with_zeros({2, 6, 3, 4}))
    for (int64_t T : {int64_t{0}, of[1]})
      for (bool causal : {true, false})
        for (bool composed : {true, false}) {
          int64_t B = of[0], K = of[1], n = of[2], C = of[3];
          rows.push_back({composed ? "composed_aft" : "aft_mix",
                          {{B, K, C}, {B, K, C}, {2, T, n}},
                          [=](const In& in) {
                            AftBand band{in[2], K - T, 1};
                            Visibility visible{{causal}};
                            return composed ? composed_aft(in[0], in[1], band, visible)
                                            : aft_mix(in[0], in[1], band, visible);
                          }});
        }
  for (const Dims& shape : with_zeros({2, 3, 4}))
    for (int64_t width : {0, 5})
      rows.push_back({"shifted_rows", {shape}, [=](const In& in) {
                        return shifted_rows(in[0], width, 1, 1);
                      }});
  for (int64_t T : {0, 2})
    for (int64_t K : {0, 3})
      for (int64_t r : {0, 4})
        for (int64_t width : {0, 5})
          rows.push_back({"banded_product", {{T, r}, {K, r}}, [=](const In& in) {
                            return banded_product(in[0], in[1], width, -1);
                          }});
  return rows;
}

std::vector<EmptyRow> rows_of_places() {
  std::vector<EmptyRow> rows;
  for (const Dims& of : with_zeros({3, 2}))
    rows.push_back({"embedding of no tokens", {of}, [](const In& in) {
                      return embedding(in[0], {{2, 0}, {}});
                    }});
  rows.push_back({"embedding in no channels", {{3, 0}}, [](const In& in) {
                    return embedding(in[0], {{1, 2}, {0, 2}});
                  }});
  rows.push_back({"gather of nothing", {{2, 3}}, [](const In& in) {
                    return gather(in[0], 1, {{2, 0}, {}});
                  }});
  for (const Dims& shape : with_zeros({2, 2, 3, 4}))
    rows.push_back({"rotate", {shape}, [](const In& in) { return rotate(in[0], 1); }});
  rows.push_back({"last_rows", {{3, 2}}, [](const In& in) { return exp(last_rows(in[0], 0)); }});
  return rows;
}

}  // namespace

TEST_CASE("sizes of 0: functions of one shape") {
  std::ranges::for_each(rows_of_one(), check_empty);
}
TEST_CASE("sizes of 0: products") { std::ranges::for_each(rows_of_products(), check_empty); }
TEST_CASE("sizes of 0: norms") { std::ranges::for_each(rows_of_norms(), check_empty); }
TEST_CASE("sizes of 0: recurrent cells") { std::ranges::for_each(rows_of_cells(), check_empty); }
TEST_CASE("sizes of 0: AFT") { std::ranges::for_each(rows_of_aft(), check_empty); }
TEST_CASE("sizes of 0: places in a table") { std::ranges::for_each(rows_of_places(), check_empty); }

TEST_CASE("what has no value over nothing is refused by its own name") {
  auto zeros = [](const Dims& shape) { return Tensor::zeros(shape); };
  auto none = zeros({2, 0});
  CHECK(refusal([&] { layer_norm(none, zeros({0}), zeros({0})); }) ==
        "layer_norm: [2, 0], expected […, C] with C of at least 1");
  CHECK(refusal([&] { rms_norm(none); }) ==
        "rms_norm: [2, 0], expected […, C] with C of at least 1");
  CHECK(refusal([&] { deviation_norm(none, zeros({0}), zeros({0}), 0.1); }) ==
        "deviation_norm: [2, 0], expected at least 2 elements a row");
  CHECK(refusal([&] { maximum(none, 1); }) == "maximum: axis 1 of [2, 0] is empty");
  CHECK(refusal([&] { argmax(none, 1); }) == "argmax: axis 1 of [2, 0] is empty");
  CHECK(refusal([&] {
          cross_entropy(none, {{2}, {0, 0}});
        }) == "cross_entropy: logits of [2, 0], expected at least one row and one token");
  CHECK(refusal([&] {
          cross_entropy(zeros({0, 3}), {{0}, {}});
        }) == "cross_entropy: logits of [0, 3], expected at least one row and one token");
  CHECK(refusal([&] {
          embedding(zeros({0, 3}), {{1}, {0}});
        }) == "embedding: token 0, expected 0 to -1");
  CHECK(refusal([&] {
          aft_mix(zeros({2, 0, 3}), zeros({2, 0, 3}), {zeros({0, 0, 0})}, {});
        }) ==
        "aft: biases [0, 0, 0] for 3 channels, expected [G, T, n] with a G that divides them");
  CHECK(refusal([&] { split(none, 0, 0); }) == "split: parts of 0, expected at least 1");
  CHECK(refusal([&] {
          split_heads(zeros({2, 3, 4}), 0);
        }) == "split_heads: [2, 3, 4] in 0 heads, expected [B, T, n·D] with n heads, at least 1");
}

TEST_CASE("numbers below 0, and bands beyond all keys, are refused by name") {
  Tensor x = Tensor::zeros({1, 2, 3}), bias = Tensor::zeros({1, 2, 3});
  CHECK(refusal([&] { shifted_rows(x, -1, 0, 0); }) ==
        "shifted_rows: to -1 columns, expected at least 0");
  CHECK(refusal([&] { banded_product(x[0], x[0], -1, 0); }) ==
        "banded_product: to -1 columns, expected at least 0");
  CHECK(refusal([&] { banded_product(x[0], x[0], 1, (int64_t{1} << 40) + 1); }) ==
        "banded_product: a band from 1099511627777 by 1, expected at most 2^40 either way");
  CHECK(refusal([&] { widened({bias}, -2); }) ==
        "shifted_rows: to -2 columns, expected at least 0");
  constexpr int64_t far = (int64_t{1} << 40) + 1;
  for (auto [start, step] : {std::pair{far, int64_t{1}}, {-far, 1}, {0, far}})
    CHECK(refusal([&, start = start, step = step] {
            aft_mix(x, x, {bias, start, step}, {});
          }) ==
          text("aft: a band from ", start, " by ", step, ", expected at most 2^40 either way"));
}
