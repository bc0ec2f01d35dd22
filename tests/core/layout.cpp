#include "core/layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "tests/support/indices.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// The positions of all elements in row-major order: what a view shows of the buffer 0, 1, 2, …
std::vector<int64_t> positions(const Layout& layout) {
  std::vector<int64_t> result;
  for_each_index(layout.shape,
                 [&](const Dims& index) { result.push_back(position(layout, index)); });
  return result;
}

using Positions = std::vector<int64_t>;

const Layout matrix = Layout::contiguous({3, 4});

}  // namespace

TEST_CASE("a contiguous layout counts up") {
  Positions all(12);
  std::iota(all.begin(), all.end(), 0);
  CHECK(positions(matrix) == all);
  CHECK(matrix.is_contiguous());
  CHECK(matrix.covers(12));
  CHECK_FALSE(matrix.covers(13));
  CHECK_FALSE(matrix.is_broadcast());
  CHECK_FALSE(matrix.overlaps());
  CHECK(positions(Layout::contiguous({})) == Positions{0});
  CHECK(Layout::contiguous({2, 0}).is_contiguous());
}

TEST_CASE("permute reads the axes in another order") {
  Layout turned = matrix.permute({1, 0});
  CHECK(turned.shape == Dims{4, 3});
  CHECK(positions(turned) == Positions{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK_FALSE(turned.is_contiguous());
  CHECK(turned.covers(12));
  CHECK(positions(turned.permute({-1, -2})) == positions(matrix));
  // An axis of one element moves without a trace.
  CHECK(Layout::contiguous({3, 1, 4}).permute({1, 0, 2}).is_contiguous());
  CHECK(refusal([] { matrix.permute({0}); }) == "permute: [0] does not name the 2 axes of [3, 4]");
  CHECK(refusal([] { matrix.permute({1, -1}); }) == "permute: [1, -1] names an axis twice");
  CHECK(refusal([] { matrix.permute({0, 2}); }) == "permute: axis 2 of a tensor with 2 axes");
}

TEST_CASE("a step may be longer than any axis") {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (int64_t step : {most, most - 1, most / 2}) {
    CHECK(positions(matrix.slice(1, 1, 4, step)) == Positions{1, 5, 9});
    CHECK(matrix.slice(1, 0, 0, step).shape == Dims{3, 0});
  }
}

TEST_CASE("no layout has a negative size") {
  CHECK(refusal([] { Layout::contiguous({-2, -3}); }) == "shape: [-2, -3] has a negative size");
  CHECK(refusal([] {
          Layout{{-2, -3}, {3, 1}, 0}.fits(100);
        }) == "shape: [-2, -3] has a negative size");
}

TEST_CASE("the interval of a layout begins and ends with an element") {
  auto interval = [](const Layout& layout) {
    Interval all = layout.interval().value();
    return std::pair(all.begin, all.end);
  };
  CHECK(interval(matrix) == std::pair<int64_t, int64_t>(0, 12));
  CHECK(interval(matrix.slice(1, 1, 3)) == std::pair<int64_t, int64_t>(1, 11));
  CHECK(interval(matrix.flip(1).select(0, 1)) == std::pair<int64_t, int64_t>(4, 8));
  constexpr int64_t large = int64_t{1} << 62;
  CHECK_FALSE(Layout{{3}, {large}, 0}.interval());
  CHECK_FALSE(Layout{{2}, {large}, large}.interval());
  CHECK_FALSE(Layout{{1}, {1}, std::numeric_limits<int64_t>::max()}.interval());
}

TEST_CASE("layouts meet where they have an element in common") {
  Layout left = matrix.slice(1, 0, 2), right = matrix.slice(1, 2, 4);
  Layout even = matrix.slice(1, 0, 4, 2), upper = matrix.slice(0, 0, 1);
  CHECK(left.intersects(left));
  CHECK_FALSE(left.intersects(right));
  CHECK_FALSE(right.intersects(left));
  CHECK(even.intersects(left));
  CHECK(even.intersects(right));
  CHECK(upper.intersects(left));
  CHECK_FALSE(upper.intersects(matrix.slice(0, 1, 3)));
  CHECK(matrix.intersects(matrix.permute({1, 0})));
  CHECK_FALSE(matrix.slice(0, 1, 1).intersects(matrix));
  // The middle row lies between the first and the last.
  CHECK_FALSE(matrix.select(0, 1).intersects(matrix.slice(0, 0, 3, 2)));
}

TEST_CASE("slice takes every step-th index from begin to before end") {
  CHECK(positions(matrix.slice(0, 1, 3)) == Positions{4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(positions(matrix.slice(1, 1, 4, 2)) == Positions{1, 3, 5, 7, 9, 11});
  CHECK(positions(matrix.slice(-1, 0, 4, 3)) == Positions{0, 3, 4, 7, 8, 11});
  CHECK(positions(matrix.slice(1, 0, 4, 9)) == Positions{0, 4, 8});
  CHECK(matrix.slice(0, 3, 3).count() == 0);
  CHECK(matrix.slice(0, 1, 3).is_contiguous());
  CHECK_FALSE(matrix.slice(0, 0, 2).covers(12));
  CHECK_FALSE(matrix.slice(1, 0, 2).is_contiguous());
  CHECK(refusal([] { matrix.slice(1, 2, 5); }) == "slice: 2 to 5 of axis 1 of [3, 4]");
  CHECK(refusal([] { matrix.slice(1, 3, 2); }) == "slice: 3 to 2 of axis 1 of [3, 4]");
  CHECK(refusal([] { matrix.slice(0, -1, 2); }) == "slice: -1 to 2 of axis 0 of [3, 4]");
  CHECK(refusal([] { matrix.slice(0, 0, 2, 0); }) == "slice: a step of 0, expected at least 1");
  CHECK(refusal([] { matrix.slice(2, 0, 1); }) == "slice: axis 2 of a tensor with 2 axes");
}

TEST_CASE("select takes one index and drops the axis") {
  CHECK(matrix.select(0, 1).shape == Dims{4});
  CHECK(positions(matrix.select(0, 1)) == Positions{4, 5, 6, 7});
  CHECK(positions(matrix.select(-1, 2)) == Positions{2, 6, 10});
  CHECK(refusal([] { matrix.select(1, 4); }) == "select: index 4 of axis 1 of [3, 4]");
  CHECK(positions(matrix.select(0, -1)) == Positions{8, 9, 10, 11});
  CHECK(positions(matrix.select(1, -4)) == positions(matrix.select(1, 0)));
  CHECK(refusal([] { matrix.select(1, -5); }) == "select: index -5 of axis 1 of [3, 4]");
}

TEST_CASE("expand repeats by strides of 0") {
  Layout column = Layout::contiguous({2, 1});
  Layout wide = column.expand({2, 3});
  CHECK(positions(wide) == Positions{0, 0, 0, 1, 1, 1});
  CHECK(wide.is_broadcast());
  CHECK_FALSE(wide.overlaps());
  CHECK_FALSE(wide.covers(6));
  CHECK(positions(column.expand({2, 2, 1})) == Positions{0, 1, 0, 1});
  CHECK(column.expand({2, 0}).count() == 0);
  CHECK_FALSE(column.expand({1, 2, 1}).is_broadcast());
  CHECK(refusal([] { matrix.expand({3, 5}); }) == "expand: [3, 4] to [3, 5]");
  CHECK(refusal([] { matrix.expand({4}); }) == "expand: [3, 4] to the shorter [4]");
  CHECK(refusal([&] { column.expand({2, -1}); }) == "expand: [2, 1] to [2, -1]");
  CHECK(refusal([&] { column.expand({-1, 2, 1}); }) == "expand: [2, 1] to [-1, 2, 1]");
}

TEST_CASE("keep_axes takes index 0 of the axes that it drops") {
  Layout cube = Layout::contiguous({2, 3, 4});
  cube.offset = 5;
  Layout kept = cube.keep_axes([](int axis) { return axis != 1; });
  CHECK(kept == Layout{{2, 4}, {12, 1}, 5});
  CHECK(positions(kept) == positions(cube.select(1, 0)));
  CHECK(cube.keep_axes([](int) { return false; }) == Layout{{}, {}, 5});
}

TEST_CASE("an axis is broadcast if it repeats an element") {
  Layout repeated = Layout::contiguous({1, 3, 1}).expand({2, 3, 1});
  CHECK(repeated.is_broadcast(0));
  CHECK(!repeated.is_broadcast(1));
  CHECK(!repeated.is_broadcast(-1));
}

TEST_CASE("reshape keeps the row-major order, or says that it cannot") {
  struct Case {
    Layout from;
    Dims to;
    bool possible;
  };
  Layout cube = Layout::contiguous({2, 3, 4});
  const std::vector<Case> cases = {
      {cube, {24}, true},
      {cube, {4, 6}, true},
      {cube, {2, 1, 12, 1}, true},
      {cube.slice(0, 1, 2), {3, 4}, true},
      {cube.slice(1, 1, 3), {2, 8}, true},
      {cube.slice(1, 1, 3), {16}, false},
      {cube.slice(2, 0, 4, 2), {6, 2}, true},
      {cube.slice(2, 0, 4, 2), {12}, true},
      {cube.slice(2, 0, 3), {6, 3}, true},
      {cube.slice(2, 0, 3), {18}, false},
      {cube.permute({0, 2, 1}), {2, 2, 2, 3}, true},
      {cube.permute({0, 2, 1}), {2, 12}, false},
      {cube.permute({2, 0, 1}), {4, 6}, true},
      {cube.permute({2, 0, 1}), {2, 2, 3, 2, 1}, true},
      {cube.permute({2, 0, 1}), {24}, false},
      {Layout::contiguous({1, 4}).expand({3, 4}), {3, 2, 2}, true},
      {Layout::contiguous({1, 4}).expand({3, 4}), {12}, false},
      {Layout::contiguous({1}).expand({6}), {2, 3}, true},
      {Layout::contiguous({1, 1}).expand({2, 3}), {6}, true},
      {Layout::contiguous({2, 1, 3}).permute({2, 1, 0}), {3, 2}, true},
      {Layout::contiguous({0, 3}), {5, 0, 2}, true},
      {Layout::contiguous({}), {1, 1}, true},
      {Layout::contiguous({1, 1}), {}, true},
  };
  for (const Case& c : cases) {
    CAPTURE(c.from.shape);
    CAPTURE(c.from.strides);
    CAPTURE(c.to);
    std::optional<Layout> layout = c.from.reshape(c.to);
    CHECK(layout.has_value() == c.possible);
    if (!layout) continue;
    CHECK(layout->shape == c.to);
    CHECK(positions(*layout) == positions(c.from));
  }
}

TEST_CASE("reshape works out one size") {
  CHECK(matrix.reshape({2, -1})->shape == Dims{2, 6});
  CHECK(matrix.reshape({-1})->shape == Dims{12});
  CHECK(Layout::contiguous({0, 3}).reshape({-1, 3})->shape == Dims{0, 3});
  const char* differ = ": the numbers of elements differ";
  CHECK(refusal([] { matrix.reshape({5, -1}); }) == text("reshape: [3, 4] to [5, -1]", differ));
  CHECK(refusal([] { matrix.reshape({3, 3}); }) == text("reshape: [3, 4] to [3, 3]", differ));
  CHECK(refusal([] { matrix.reshape({-1, -1}); }) == "reshape: [-1, -1] as a shape");
  CHECK(refusal([] { matrix.reshape({-2, -6}); }) == "reshape: [-2, -6] as a shape");
  // Any size would do.
  CHECK(refusal([] {
          Layout::contiguous({0, 3}).reshape({0, -1});
        }) == "reshape: [0, 3] to [0, -1]: any size would do in place of -1");
}

TEST_CASE("rel_shift drops the first T elements and reads on in rows of K") {
  // Column 0 of the padded [3, 4] holds 0, 4 and 8.
  Layout shifted = matrix.rel_shift();
  CHECK(shifted.shape == Dims{3, 3});
  CHECK(positions(shifted) == Positions{3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK_FALSE(shifted.covers(12));
  CHECK_FALSE(shifted.overlaps());
  // Each matrix of a stack by itself, in any order of the stack.
  Layout stack = Layout::contiguous({2, 2, 1, 3}).permute({1, 0, 2, 3});
  CHECK(positions(stack.rel_shift()) == Positions{1, 2, 7, 8, 4, 5, 10, 11});
  CHECK(Layout::contiguous({2, 1}).rel_shift().count() == 0);
  CHECK(Layout::contiguous({0, 3}).rel_shift().count() == 0);
}

TEST_CASE("shift_right reads from the start in rows of K") {
  CHECK(positions(matrix.shift_right()) == Positions{0, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("the shifts refuse rows with gaps between them") {
  const char* gaps = "rel_shift: [3, 3], expected rows without gaps in or between them";
  CHECK(refusal([] { matrix.slice(1, 0, 3).rel_shift(); }) == gaps);
  CHECK(refusal([] { Layout::contiguous({3, 3}).permute({1, 0}).rel_shift(); }) == gaps);
  CHECK(refusal([] { Layout::contiguous({1, 3}).expand({3, 3}).rel_shift(); }) == gaps);
  CHECK(refusal([] {
          Layout::contiguous({3, 6}).slice(1, 0, 6, 2).shift_right();
        }) == "shift_right: [3, 3], expected rows without gaps in or between them");
  CHECK(refusal([] { Layout::contiguous({3}).rel_shift(); }) ==
        "rel_shift: [3], expected a padded […, T, K+1]");
  CHECK(refusal([] {
          Layout::contiguous({3, 0}).rel_shift();
        }) == "rel_shift: [3, 0], expected a padded […, T, K+1]");
}

TEST_CASE("the slices of a projection are apart, and what shares an element or may is not") {
  Layout heads = Layout::contiguous({2, 5, 12, 4}).permute({0, 2, 1, 3});  // [B, 3H, T, D]
  Layout keys = heads.slice(1, 4, 8), values = heads.slice(1, 8, 12);
  CHECK(keys.surely_disjoint(values));
  CHECK(values.surely_disjoint(keys));
  CHECK_FALSE(keys.surely_disjoint(keys));
  CHECK_FALSE(keys.surely_disjoint(heads.slice(1, 7, 11)));          // one head in common
  CHECK_FALSE(keys.surely_disjoint(heads.slice(1, 3, 5)));           // of another number of heads
  CHECK(keys.surely_disjoint(heads.slice(1, 0, 4).slice(2, 0, 3)));  // of another number of tokens
  CHECK_FALSE(keys.slice(2, 0, 3).surely_disjoint(keys.slice(2, 2, 5)));
  CHECK_FALSE(keys.surely_disjoint(values.permute({0, 2, 1, 3})));  // apart, of other strides
  Layout shared = keys.slice(1, 0, 1).expand({2, 4, 5, 4});
  CHECK_FALSE(shared.surely_disjoint(values.slice(1, 0, 1).expand({2, 4, 5, 4})));
  Layout deep = Layout::contiguous({1, 1, 1, 1, 1, 1, 1, 8});
  CHECK_FALSE(
      deep.slice(7, 0, 4).surely_disjoint(deep.slice(7, 4, 8)));  // of too many axes to tell
}

TEST_CASE("a layout that shares elements other than by repeating overlaps") {
  CHECK(Layout{{3, 3}, {1, 1}, 0}.overlaps());
  CHECK(Layout{{3, 2}, {2, 2}, 0}.overlaps());
  CHECK(Layout{{2, 3}, {2, 1}, 0}.overlaps());
  CHECK_FALSE(Layout{{2, 3}, {3, 1}, 0}.overlaps());
  CHECK_FALSE(Layout{{2, 3}, {0, 1}, 0}.overlaps());
  CHECK_FALSE(Layout{{2, 0}, {1, 1}, 0}.overlaps());
  CHECK_FALSE(Layout{{1, 3}, {1, 1}, 0}.overlaps());
}

TEST_CASE("overlaps, apart and covers agree with counting positions") {
  // All layouts of two axes up to 4 elements long, with strides up to 5.
  for (int64_t rows = 1; rows <= 4; ++rows)
    for (int64_t columns = 1; columns <= 4; ++columns)
      for (int64_t down = 0; down <= 5; ++down)
        for (int64_t right = 0; right <= 5; ++right) {
          Layout layout{{rows, columns}, {down, right}, 0};
          Positions all = positions(layout);
          std::set<int64_t> distinct(all.begin(), all.end());
          bool repeats = distinct.size() < all.size();
          CAPTURE(layout.shape);
          CAPTURE(layout.strides);
          // It may take interleaving for sharing, never sharing for interleaving.
          if (repeats) CHECK((layout.is_broadcast() || layout.overlaps()));
          // Nor may it take two that share an element for two that do not.
          for (int64_t offset = -12; offset <= 12; ++offset) {
            Layout moved{{columns, rows}, {down, right}, offset};
            Positions others = positions(moved);
            bool meet =
                std::ranges::any_of(others, [&](int64_t n) { return distinct.contains(n); });
            if (meet) CHECK_FALSE(layout.surely_disjoint(moved));
          }
          // A layout that stays within the buffer covers it when it repeats nothing.
          bool inside = *distinct.rbegin() < rows * columns;
          if (inside) CHECK(layout.covers(rows * columns) == !repeats);
        }
}

TEST_CASE("a layout has a stride for each axis, and elements within int64_t") {
  constexpr int64_t most = std::numeric_limits<int64_t>::max(), large = int64_t{1} << 62;
  Layout few{{2, 2}, {2}, 0}, many{{2}, {2, 1}, 0}, far{{4}, {large}, 0}, late{{2}, {1}, most};
  auto refused = [](const Layout& layout, const std::string& reason) {
    auto says = [&](const std::string& operation, auto act) {
      CHECK(refusal(act) == operation + reason);
    };
    says("permute", [&] { layout.permute({0}); });
    says("slice", [&] { layout.slice(0, 0, 1); });
    says("select", [&] { layout.select(0, 0); });
    says("flip", [&] { layout.flip(0); });
    says("expand", [&] { layout.expand(layout.shape); });
    says("reshape", [&] { (void)layout.reshape({-1}); });
    says("keep_axes", [&] { (void)layout.keep_axes([](int) { return true; }); });
    says("rel_shift", [&] { layout.rel_shift(); });
    says("shift_right", [&] { layout.shift_right(); });
  };
  refused(few, ": strides [2] for the shape [2, 2], expected one for each axis");
  refused(many, ": strides [2, 1] for the shape [2], expected one for each axis");
  refused(far, ": shape [4] with strides [4611686018427387904] from 0 reaches beyond int64_t");
  refused(late, ": shape [2] with strides [1] from 9223372036854775807 reaches beyond int64_t");
  CHECK(refusal([&] {
          Layout{{-1, 2}, {2, 1}, 0}.permute({1, 0});
        }) == "shape: [-1, 2] has a negative size");
}
