#pragma once

// The three checks that every op goes through, from one row: its values against an oracle, its
// gradients against difference quotients of the oracle, and both at every arrangement in memory.
// The oracle runs in double in both builds, so the float build is checked against double too.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/tape.h"
#include "ops/gradient_check.h"
#include "tests/support/arrangement.h"
#include "tests/support/mismatch.h"
#include "tests/support/numbers.h"
#include "tests/support/random_values.h"

namespace shiftgrad::test {

using Op = std::function<Tensor(const std::vector<Tensor>&)>;

struct OpRow {
  std::string name;
  std::vector<Dims> shapes;
  Op op;
  /// The same function as loops over indices.
  std::function<Numbers(const std::vector<Numbers>&)> oracle;
  /// The inputs are drawn from low … high.
  double low = -1;
  double high = 1;
  /// Arrangements of the first input at which the function is not smooth enough for difference
  /// quotients; each needs a test of its own.
  std::vector<Arrangement> without = {};
  /// An op that computes the same in another way, and goes through the same checks.
  Op twin = {};
};

/// The leaves and views that one check feeds to an op.
using Inputs = std::vector<Arranged>;

inline std::vector<Tensor> views(const Inputs& inputs) {
  std::vector<Tensor> result;
  for (const Arranged& input : inputs) result.push_back(input.view);
  return result;
}

inline std::vector<Numbers> values_of(const Inputs& inputs) {
  std::vector<Numbers> result;
  for (const Arranged& input : inputs) result.push_back(numbers(input.view));
  return result;
}

/// The oracle on the views' values, of which those that lie at one place of a leaf are moved.
struct MovedOracle {
  const OpRow& row;
  std::vector<Numbers> values;
  std::vector<Bounded>& moving;
  std::vector<Bounded> before;
  std::vector<int64_t> places;  // of each value in its leaf

  MovedOracle(const OpRow& own, const Inputs& inputs, size_t which)
      : row(own), values(values_of(inputs)), moving(values[which].values), before(moving) {
    for_each_index(values[which].shape, [&](const Dims& index) {
      places.push_back(position(inputs[which].view.layout(), index));
    });
  }

  Numbers operator()(int64_t at, double step) {
    for (size_t n = 0; n < places.size(); ++n)
      if (places[n] == at) moving[n] = before[n].value + step;
    Numbers result = row.oracle(values);
    for (size_t n = 0; n < places.size(); ++n)
      if (places[n] == at) moving[n] = before[n];
    return result;
  }
};

/// d Σ y · cotangent / d leaf by difference quotients of the oracle, four points each, so that
/// their error is of order step⁴. The bound follows from what the sums are made of: with the
/// Jacobian J, an element is Σ_j J_ji c_j, and its terms round on the scale of |J_ji c_j|, or of
/// |y_j c_j| where a slope is worked out from the output, as in tanh' = 1 - y². The quotients
/// themselves round on the scale of |y_j c_j| / step, which shows where all slopes cancel out.
inline Numbers differences(const OpRow& row, const Inputs& inputs, size_t which,
                           const std::vector<Scalar>& cotangent) {
  constexpr double step = 1e-3, of_differences = 1e-9;
  constexpr double of_quotients = 2 * std::numeric_limits<double>::epsilon() / step;
  Numbers result(inputs[which].leaf.shape());
  double slopes = 0, outputs = 0;
  int64_t longest = 0;
  for (const Arranged& input : inputs) longest = std::max(longest, input.view.count());
  MovedOracle oracle(row, inputs, which);
  for (size_t i = 0; i < result.values.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    std::array<Numbers, 5> moved;
    for (int steps : {-2, -1, 1, 2}) moved[steps + 2] = oracle(at, steps * step);
    double sum = 0, of_slopes = 0, of_outputs = 0;
    for (size_t j = 0; j < cotangent.size(); ++j) {
      auto output = [&](int steps) { return moved[steps + 2].values[j].value; };
      double slope = difference_quotient(output, step);
      auto c = static_cast<double>(cotangent[j]);
      sum += slope * c;
      of_slopes += std::abs(slope * c);
      of_outputs += std::abs(output(1) * c);
    }
    result.values[i].value = sum;
    slopes = std::max(slopes, of_slopes);
    outputs = std::max(outputs, of_outputs);
  }
  // No element is a sum of more terms than there are inputs or outputs; 16 for the steps of a term.
  double roundings = 16 + static_cast<double>(std::max<size_t>(longest, cotangent.size()));
  double error =
      of_differences * slopes + of_quotients * outputs + roundings * epsilon * (slopes + outputs);
  for (Bounded& value : result.values) value.error = error;
  return result;
}

/// One forward and backward pass under a tape of its own.
inline Tensor pass(const Op& op, const Inputs& inputs, const Tensor& cotangent) {
  Tape tape;
  Tensor y = op(views(inputs));
  tape.backward(y, cotangent);
  return y;
}

/// Returns the inputs as leaves of their own, of which none requires a gradient.
inline Inputs detached(const Inputs& inputs) {
  Inputs result = inputs;
  for (Arranged& input : result) {
    input.leaf = input.leaf.detach();
    input.view = input.leaf.view(input.view.layout());
  }
  return result;
}

/// Returns such leaves, of which only number `which` requires a gradient.
inline Inputs alone(const Inputs& inputs, size_t which) {
  Inputs result = detached(inputs);
  result[which].leaf.require_gradient();
  return result;
}

/// A second pass adds to the first one's gradient; after zero_gradient a third one overwrites
/// whatever the buffer holds.
inline void check_passes(const Op& op, const Inputs& inputs, const Tensor& leaf,
                         const Tensor& cotangent, const Numbers& slopes) {
  std::vector<Scalar> once = leaf.gradient().values();
  pass(op, inputs, cotangent);
  Numbers twice = slopes;
  for (Bounded& slope : twice.values) slope = slope + slope;
  CHECK(mismatch(leaf.gradient(), twice) == "");
  Tensor buffer = leaf.gradient();
  std::fill_n(buffer.mutable_data(), buffer.count(), std::numeric_limits<Scalar>::quiet_NaN());
  leaf.zero_gradient();
  CHECK_FALSE(leaf.gradient().defined());
  pass(op, inputs, cotangent);
  CHECK(same_bits(leaf.gradient().values(), once));
}

/// All checks of one op: its values, and its gradients for each input alone and for all together.
inline void check_op(const Op& op, const Inputs& inputs, const Numbers& values,
                     const Tensor& cotangent, const std::vector<Numbers>& slopes) {
  Tensor y = op(views(inputs));
  CHECK(mismatch(y, values) == "");
  CHECK_FALSE(y.requires_gradient());
  for (size_t which = 0; which < inputs.size(); ++which) {
    CAPTURE(which);
    Inputs only = alone(inputs, which);
    CHECK(same_bits(pass(op, only, cotangent), y));
    for (size_t other = 0; other < inputs.size(); ++other)
      CHECK(only[other].leaf.gradient().defined() == (other == which));
    const Tensor& leaf = only[which].leaf;
    REQUIRE(leaf.gradient().defined());
    CHECK(mismatch(leaf.gradient(), slopes[which]) == "");
    check_passes(op, only, leaf, cotangent, slopes[which]);
  }
  Inputs together = detached(inputs);
  for (const Arranged& input : together) input.leaf.require_gradient();
  CHECK(same_bits(pass(op, together, cotangent), y));
  for (size_t which = 0; which < inputs.size(); ++which) {
    CAPTURE(which);
    CHECK(mismatch(together[which].leaf.gradient(), slopes[which]) == "");
  }
}

/// All checks for inputs at these arrangements.
inline void check_arranged(const OpRow& row, const std::vector<Arrangement>& kinds, uint64_t seed) {
  RandomValues random(seed, row.low, row.high);
  Inputs inputs;
  for (size_t n = 0; n < row.shapes.size(); ++n)
    inputs.emplace_back(kinds[n], row.shapes[n], random);
  Numbers values = row.oracle(values_of(inputs));
  Tensor cotangent = RandomValues(seed + 1).tensor(values.shape);
  std::vector<Numbers> slopes;
  for (size_t which = 0; which < inputs.size(); ++which)
    slopes.push_back(differences(row, inputs, which, cotangent.values()));
  check_op(row.op, inputs, values, cotangent, slopes);
  if (row.twin) check_op(row.twin, inputs, values, cotangent, slopes);
}

/// Every row at every arrangement: first all inputs alike, then each its own.
inline void check_rows(const std::vector<OpRow>& rows) {
  for (const OpRow& row : rows) {
    std::string shapes;
    for (const Dims& shape : row.shapes) shapes += text(shape);
    CAPTURE(row.name);
    CAPTURE(shapes);
    for (size_t a = 0; a < arrangements.size(); ++a)
      for (size_t turn : {0, 1}) {
        std::vector<Arrangement> kinds;
        for (size_t n = 0; n < row.shapes.size(); ++n)
          kinds.push_back(arrangements[(a + turn * n) % arrangements.size()]);
        CAPTURE(a);
        CAPTURE(turn);
        bool left_out = std::count(row.without.begin(), row.without.end(), kinds[0]) > 0;
        if ((turn == 0 || row.shapes.size() > 1) && !left_out)
          check_arranged(row, kinds, 7 * a + turn);
      }
  }
}

/// A row for a function of one tensor, which does `f` to each element.
template <class Op, class F>
OpRow each(const char* name, const Dims& shape, Op op, F f, double low = -1, double high = 1) {
  auto oracle = [f](const std::vector<Numbers>& in) {
    Numbers y(in[0].shape);
    for (size_t n = 0; n < y.values.size(); ++n) y.values[n] = f(in[0].values[n]);
    return y;
  };
  return {name,   {shape}, [op](const std::vector<Tensor>& in) { return op(in[0]); },
          oracle, low,     high};
}

}  // namespace shiftgrad::test
