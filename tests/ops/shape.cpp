#include "ops/shape.h"

#include "core/machine/allocator.h"
#include "ops/concat.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// y[index] = x[from(index)] for a y of `shape`.
template <class From>
Numbers picked(const Numbers& x, const Dims& shape, From from) {
  Numbers y(shape);
  for_each_index(shape, [&](const Dims& index) { y.at(index) = x.at(from(index)); });
  return y;
}

/// A row for a view of one tensor.
template <class Op, class From>
OpRow view_row(const std::string& name, const Dims& shape, const Dims& to, Op op, From from) {
  return {name,
          {shape},
          [op](const std::vector<Tensor>& in) { return op(in[0]); },
          [from, to](const std::vector<Numbers>& in) { return picked(in[0], to, from); }};
}

std::vector<OpRow> view_rows() {
  std::vector<OpRow> rows;
  auto add = [&](auto... parts) { rows.push_back(view_row(parts...)); };
  add(
      "reshape", Dims{2, 3, 4}, Dims{4, 6},
      [](const Tensor& x) {
        return reshape(x, {4, -1});
      },
      [](Dims i) {
        int64_t n = i[0] * 6 + i[1];
        return Dims{n / 12, n / 4 % 3, n % 4};
      });
  add(
      "reshape to one axis", Dims{3, 5}, Dims{15}, [](const Tensor& x) { return reshape(x, {15}); },
      [](Dims i) {
        return Dims{i[0] / 5, i[0] % 5};
      });
  add(
      "reshape to more axes", Dims{6}, Dims{1, 3, 2},
      [](const Tensor& x) {
        return reshape(x, {1, 3, 2});
      },
      [](Dims i) { return Dims{i[1] * 2 + i[2]}; });
  add(
      "reshape of one", Dims{}, Dims{1, 1},
      [](const Tensor& x) {
        return reshape(x, {1, 1});
      },
      [](Dims) { return Dims{}; });
  add(
      "reshape of none", Dims{0, 3}, Dims{2, 0},
      [](const Tensor& x) {
        return reshape(x, {2, 0});
      },
      [](Dims) {
        return Dims{0, 0};
      });
  add(
      "permute", Dims{2, 3, 4}, Dims{4, 2, 3},
      [](const Tensor& x) {
        return permute(x, {2, 0, -2});
      },
      [](Dims i) {
        return Dims{i[1], i[2], i[0]};
      });
  add(
      "transpose", Dims{2, 3, 4}, Dims{2, 4, 3}, [](const Tensor& x) { return transpose(x); },
      [](Dims i) {
        return Dims{i[0], i[2], i[1]};
      });
  add(
      "transpose of two axes", Dims{2, 3, 4}, Dims{4, 3, 2},
      [](const Tensor& x) { return transpose(x, 0, -1); },
      [](Dims i) {
        return Dims{i[2], i[1], i[0]};
      });
  add(
      "slice", Dims{3, 7}, Dims{3, 3}, [](const Tensor& x) { return slice(x, 1, 1, 7, 2); },
      [](Dims i) {
        return Dims{i[0], 1 + 2 * i[1]};
      });
  add(
      "slice of none", Dims{3, 5}, Dims{0, 5}, [](const Tensor& x) { return slice(x, 0, 2, 2); },
      [](Dims i) { return i; });
  add(
      "flip", Dims{2, 3, 4}, Dims{2, 3, 4}, [](const Tensor& x) { return flip(x, -2); },
      [](Dims i) {
        return Dims{i[0], 2 - i[1], i[2]};
      });
  add(
      "flip of none", Dims{0, 3}, Dims{0, 3}, [](const Tensor& x) { return flip(x, 0); },
      [](Dims i) { return i; });
  add(
      "select", Dims{2, 3, 4}, Dims{2, 4}, [](const Tensor& x) { return select(x, 1, 2); },
      [](Dims i) {
        return Dims{i[0], 2, i[1]};
      });
  add(
      "select from the end", Dims{2, 3, 4}, Dims{2, 3},
      [](const Tensor& x) { return select(x, -1, -2); },
      [](Dims i) {
        return Dims{i[0], i[1], 2};
      });
  add(
      "x[i]", Dims{2, 3, 4}, Dims{4}, [](const Tensor& x) { return x[1][-3]; },
      [](Dims i) {
        return Dims{1, 0, i[0]};
      });
  add(
      "squeeze", Dims{2, 1, 4}, Dims{2, 4}, [](const Tensor& x) { return squeeze(x, -2); },
      [](Dims i) {
        return Dims{i[0], 0, i[1]};
      });
  add(
      "squeeze of an axis that is longer", Dims{2, 3}, Dims{2, 3},
      [](const Tensor& x) { return squeeze(x, 0); }, [](Dims i) { return i; });
  add(
      "expand", Dims{3, 1}, Dims{2, 3, 4},
      [](const Tensor& x) {
        return expand(x, {2, 3, 4});
      },
      [](Dims i) {
        return Dims{i[1], 0};
      });
  add(
      "expand of one", Dims{}, Dims{2, 3},
      [](const Tensor& x) {
        return expand(x, {2, 3});
      },
      [](Dims) { return Dims{}; });
  add(
      "unsqueeze", Dims{2, 3}, Dims{2, 1, 3}, [](const Tensor& x) { return unsqueeze(x, 1); },
      [](Dims i) {
        return Dims{i[0], i[2]};
      });
  add(
      "unsqueeze at the end", Dims{2, 3}, Dims{2, 3, 1},
      [](const Tensor& x) { return unsqueeze(x, -1); },
      [](Dims i) {
        return Dims{i[0], i[1]};
      });
  add(
      "contiguous", Dims{2, 3, 4}, Dims{2, 3, 4}, [](const Tensor& x) { return contiguous(x); },
      [](Dims i) { return i; });
  add(
      "split_heads", Dims{2, 3, 8}, Dims{2, 4, 3, 2},
      [](const Tensor& x) { return split_heads(x, 4); },
      [](Dims i) {
        return Dims{i[0], i[2], i[1] * 2 + i[3]};
      });
  add(
      "merge_heads", Dims{2, 4, 3, 2}, Dims{2, 3, 8},
      [](const Tensor& x) { return merge_heads(x); },
      [](Dims i) {
        return Dims{i[0], i[2] / 2, i[1], i[2] % 2};
      });
  add(
      "views of views", Dims{4, 6}, Dims{2, 3},
      [](const Tensor& x) { return transpose(slice(transpose(slice(x, 1, 0, 6, 2)), 1, 1, 3)); },
      [](Dims i) {
        return Dims{i[0] + 1, 2 * i[1]};
      });
  return rows;
}

}  // namespace

TEST_CASE("views: values and gradients") { check_rows(view_rows()); }

TEST_CASE("views share the storage, and copies are made only where they have to be") {
  Tensor x = Tensor::zeros({2, 3, 8});
  AllocatorCounters before = allocator_counters();
  for (const Tensor& view :
       {reshape(x, {6, 8}), permute(x, {2, 0, 1}), transpose(x), slice(x, 2, 1, 7, 3),
        select(x, 0, 1), flip(x, 1), expand(unsqueeze(x, 0), {5, 2, 3, 8}), unsqueeze(x, 2),
        contiguous(x), contiguous(slice(x, 0, 1, 2)), split_heads(x, 4),
        reshape(transpose(x, 0, 1), {3, 2, 2, 4}), merge_heads(split_heads(x, 4)),
        squeeze(slice(x, 1, 2, 3), 1), squeeze(x, 1), select(x, 2, -1), x[0][-1]})
    CHECK(view.shares_storage(x));
  CHECK(allocator_counters().calls == before.calls);
  CHECK_FALSE(reshape(transpose(x), {48}).shares_storage(x));
  CHECK_FALSE(contiguous(transpose(x)).shares_storage(x));
}

TEST_CASE("shapes that do not fit are refused by name") {
  Tensor x = Tensor::zeros({2, 3, 8});
  CHECK(refusal([&] {
          reshape(x, {5, -1});
        }) == "reshape: [2, 3, 8] to [5, -1]: the numbers of elements differ");
  CHECK(refusal([&] {
          permute(x, {0, 1});
        }) == "permute: [0, 1] does not name the 3 axes of [2, 3, 8]");
  CHECK(refusal([&] { transpose(x, 0, 3); }) == "transpose: axis 3 of a tensor with 3 axes");
  CHECK(refusal([&] { transpose(Tensor::zeros({3})); }) ==
        "transpose: axis -2 of a tensor with 1 axes");
  CHECK(refusal([&] { slice(x, 1, 0, 4); }) == "slice: 0 to 4 of axis 1 of [2, 3, 8]");
  CHECK(refusal([&] { select(x, 1, 3); }) == "select: index 3 of axis 1 of [2, 3, 8]");
  CHECK(refusal([&] { select(x, 1, -4); }) == "select: index -4 of axis 1 of [2, 3, 8]");
  CHECK(refusal([&] { x[2]; }) == "select: index 2 of axis 0 of [2, 3, 8]");
  CHECK(refusal([&] { Tensor::zeros({})[0]; }) == "select: axis 0 of a tensor with 0 axes");
  CHECK(refusal([&] { squeeze(x, 3); }) == "squeeze: axis 3 of a tensor with 3 axes");
  CHECK(refusal([&] { expand(x, {2, 3, 9}); }) == "expand: [2, 3, 8] to [2, 3, 9]");
  CHECK(refusal([&] { flip(x, 3); }) == "flip: axis 3 of a tensor with 3 axes");
  CHECK(refusal([&] { unsqueeze(x, 4); }) == "unsqueeze: axis 4 of a tensor with 4 axes");
  CHECK(refusal([&] { split_heads(x, 3); }) ==
        "split_heads: [2, 3, 8] in 3 heads, expected [B, T, n·D] with n heads, at least 1");
  CHECK(refusal([&] { split_heads(x, 0); }) ==
        "split_heads: [2, 3, 8] in 0 heads, expected [B, T, n·D] with n heads, at least 1");
  CHECK(refusal([&] {
          split_heads(Tensor::zeros({3, 8}), 2);
        }) == "split_heads: [3, 8] in 2 heads, expected [B, T, n·D] with n heads, at least 1");
  CHECK(refusal([&] { merge_heads(x); }) == "merge_heads: [2, 3, 8], expected [B, n, T, D]");
}

TEST_CASE("an axis is not cut to 32 bits") {
  constexpr int64_t far = int64_t{1} << 32;
  Tensor x = Tensor::zeros({2, 3});
  auto refused = [](const char* operation, int64_t axis, auto call) {
    CHECK(refusal(call) == text(operation, ": axis ", axis, " of a tensor with 2 axes"));
  };
  for (int64_t axis : {far, far + 1, -far, -far - 1}) {
    refused("permute", axis, [&] { permute(x, {axis, 1}); });
    refused("sum", axis, [&] { sum(x, {axis}); });
    refused("sum", axis, [&] { mean(x, {axis}); });
    refused("size", axis, [&] { x.size(axis); });
    refused("transpose", axis, [&] { transpose(x, axis, 1); });
    refused("transpose", axis, [&] { transpose(x, 0, axis); });
    refused("slice", axis, [&] { slice(x, axis, 0, 1); });
    refused("select", axis, [&] { select(x, axis, 0); });
    refused("flip", axis, [&] { flip(x, axis); });
    refused("squeeze", axis, [&] { squeeze(x, axis); });
    refused("concat", axis, [&] { concat({x, x}, axis); });
    refused("split", axis, [&] { split(x, 1, axis); });
    refused("gather", axis, [&] { gather(x, axis, {{1, 1}, {0}}); });
    refused("argmax", axis, [&] { argmax(x, axis); });
    refused("topk", axis, [&] { topk(x, 1, axis); });
    refused("maximum", axis, [&] { maximum(x, axis); });
    refused("cumsum", axis, [&] { cumsum(x, axis); });
    refused("log_softmax", axis, [&] { log_softmax(x, axis); });
    CHECK(refusal([&] { unsqueeze(x, axis); }) ==
          text("unsqueeze: axis ", axis, " of a tensor with 3 axes"));
    CHECK(refusal([&] {
            stack({x, x}, axis);
          }) == text("stack: axis ", axis, " of a tensor with 3 axes"));
  }
}
