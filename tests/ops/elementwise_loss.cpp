#include "ops/elementwise_loss.h"

#include <cmath>
#include <functional>

#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using Loss = std::function<Tensor(const Tensor&, const Tensor&, const LossOptions&)>;
using Formula = std::function<Bounded(Bounded x, Bounded target)>;

/// A loss, its formula for one element, and where its inputs are drawn from.
struct RealLoss {
  const char* name;
  Loss loss;
  Formula formula;
  double most;
};

Bounded cross_entropy_of(Bounded p, Bounded t) {
  Bounded one(1);
  return -(t * log(p)) - (one - t) * log(one - p);
}

/// d² / 2 or δ (|d| - δ/2), wherever d is.
Bounded huber_of(Bounded x, Bounded t, double delta) {
  Bounded d = x - t, size = d.value < 0 ? -d : d, half(0.5);
  if (size.value < delta) return half * d * d;
  return Bounded(delta) * (size - half * Bounded(delta));
}

constexpr double far = 10;

/// Returns a loss of x + 10 or x - 10, which is far from the seams of the loss, where difference
/// quotients fail.
Loss far_from_seams(const Loss& loss, double shift) {
  return [=](const Tensor& x, const Tensor& t, const LossOptions& options) {
    return loss(x + static_cast<Scalar>(shift), t, options);
  };
}

const std::vector<RealLoss>& real_losses() {
  static const std::vector<RealLoss> cases = [] {
    auto smooth = [](Scalar beta) -> Loss {
      return [=](const Tensor& x, const Tensor& t, const LossOptions& options) {
        return smooth_l1_loss(x, t, beta, options);
      };
    };
    auto huber = [](Scalar delta) -> Loss {
      return [=](const Tensor& x, const Tensor& t, const LossOptions& options) {
        return huber_loss(x, t, delta, options);
      };
    };
    auto smooth_of = [](Bounded x, Bounded t, double beta) {
      return huber_of(x, t, beta) / Bounded(beta);
    };
    std::vector<RealLoss> list = {
        {"mse_loss", mse_loss, [](Bounded x, Bounded t) { return (x - t) * (x - t); }, 2},
        {"smooth_l1_loss", smooth(5), [=](Bounded x, Bounded t) { return smooth_of(x, t, 5); }, 2},
        {"huber_loss", huber(5), [](Bounded x, Bounded t) { return huber_of(x, t, 5); }, 2},
        // The inputs are sigmoids: near 0, the slopes of log p are too steep for difference
        // quotients.
        {"binary_cross_entropy",
         [](const Tensor& x, const Tensor& t, const LossOptions& options) {
           return binary_cross_entropy(sigmoid(x), sigmoid(t), options);
         },
         [](Bounded x, Bounded t) { return cross_entropy_of(sigma(x), sigma(t)); }, 2},
        {"binary_cross_entropy_with_logits", binary_cross_entropy_with_logits,
         [](Bounded z, Bounded t) { return cross_entropy_of(sigma(z), t); }, 4},
    };
    for (double shift : {far, -far}) {
      Bounded by(shift);
      list.push_back({"l1_loss", far_from_seams(l1_loss, shift),
                      [=](Bounded x, Bounded t) { return shift < 0 ? t - (x + by) : x + by - t; },
                      2});
      list.push_back({"smooth_l1_loss", far_from_seams(smooth(Scalar(0.5)), shift),
                      [=](Bounded x, Bounded t) { return smooth_of(x + by, t, 0.5); }, 2});
      list.push_back({"huber_loss", far_from_seams(huber(Scalar(1.5)), shift),
                      [=](Bounded x, Bounded t) { return huber_of(x + by, t, 1.5); }, 2});
    }
    return list;
  }();
  return cases;
}

/// A row that compares the loss with Σ w f, Σ w f / Σ w or w f, by indices. `weight_of` gives the
/// weight of an element.
OpRow row_of(const RealLoss& c, const Dims& shape, const LossOptions& options,
             const std::function<double(const Dims&)>& weight_of) {
  auto oracle = [=](const std::vector<Numbers>& in) {
    Numbers each(shape), one(Dims{});
    Bounded total;
    size_t n = 0;
    for_each_index(shape, [&](const Dims& index) {
      Bounded weight(weight_of(index));
      each.values[n] = weight * c.formula(in[0].values[n], in[1].values[n]);
      one.values[0] += each.values[n++];
      total += weight;
    });
    if (options.reduction == Reduction::none) return each;
    if (options.reduction == Reduction::mean) one.values[0] = one.values[0] / total;
    return one;
  };
  return {text(c.name, ", ", options.reduction, options.weights.defined() ? " with weights" : ""),
          {shape, shape},
          [=](const std::vector<Tensor>& in) { return c.loss(in[0], in[1], options); },
          oracle,
          -c.most,
          c.most};
}

constexpr Reduction reductions[] = {Reduction::mean, Reduction::sum, Reduction::none};

std::vector<OpRow> unweighted_rows() {
  std::vector<OpRow> rows;
  for (const RealLoss& c : real_losses())
    for (Reduction reduction : reductions)
      for (const Dims& shape : {Dims{}, Dims{1}, Dims{5}, Dims{3, 4}, Dims{2, 3, 2}})
        rows.push_back(row_of(c, shape, {.reduction = reduction}, [](const Dims&) { return 1.0; }));
  return rows;
}

/// Weights of every shape that broadcasts to [2, 3, 4], some of them 0.
std::vector<OpRow> weighted_rows() {
  std::vector<OpRow> rows;
  const Dims shape{2, 3, 4};
  for (const RealLoss& c : real_losses())
    for (const Dims& own : {Dims{}, Dims{4}, Dims{3, 1}, Dims{2, 3, 1}, Dims{2, 1, 4}, shape}) {
      Tensor weights = Tensor::empty(own);
      for (int64_t n = 0; n < weights.count(); ++n)
        weights.mutable_data()[n] = own.empty() ? Scalar(0.5) : static_cast<Scalar>(n % 3);
      Tensor all = expand(weights, shape);
      auto weight_of = [=](const Dims& index) {
        return static_cast<double>(all.data()[position(all.layout(), index) - all.layout().offset]);
      };
      for (Reduction reduction : reductions)
        rows.push_back(row_of(c, shape, {weights, reduction}, weight_of));
    }
  return rows;
}

/// A loss of one element, and what it passes on.
struct Single {
  double loss, gradient;
};

Single of_one(const Loss& loss, Scalar x, Scalar target) {
  Tensor input = Tensor::full({}, x).require_gradient();
  Tape tape;
  Tensor y = loss(input, Tensor::full({}, target), {});
  tape.backward(y);
  return {static_cast<double>(y.item()), static_cast<double>(input.gradient().item())};
}

}  // namespace

TEST_CASE("losses of real values: values and gradients") { check_rows(unweighted_rows()); }

TEST_CASE("losses of real values with weights: values and gradients") {
  check_rows(weighted_rows());
}

TEST_CASE("what a weight of 0 hides is not read, and gets no gradient") {
  Tensor weights = Tensor::from({3, 1}, std::vector<Scalar>{2, 0, 1});
  for (const RealLoss& c : real_losses()) {
    CAPTURE(c.name);
    auto gradients = [&](Scalar hidden, Reduction reduction) {
      Tensor x = Tensor::from({3, 2}, std::vector<Scalar>{0.25, 0.5, hidden, hidden, 0.75, 0.5});
      Tensor target = Tensor::from({3, 2}, std::vector<Scalar>{1, 0, hidden, hidden, 0, 1});
      x.require_gradient();
      target.require_gradient();
      Tape tape;
      Tensor loss = c.loss(x, target, {weights, reduction});
      tape.backward(loss);
      std::vector<Scalar> all = x.gradient().values();
      for (Scalar slope : target.gradient().values()) all.push_back(slope);
      for (size_t n : {2, 3, 8, 9}) CHECK(all[n] == 0);
      all.push_back(loss.item());
      return all;
    };
    for (Reduction reduction : {Reduction::mean, Reduction::sum})
      for (Scalar hidden : {not_a_number, infinity, Scalar(-1e30)})
        CHECK(same_bits(gradients(hidden, reduction), gradients(0, reduction)));
  }
}

TEST_CASE("weights of 1 have the bits of no weights") {
  RandomValues random(5, -2, 2);
  Tensor x = random.tensor({7, 9}), target = random.tensor({7, 9});
  for (const RealLoss& c : real_losses())
    for (Reduction reduction : reductions)
      CHECK(same_bits(c.loss(x, target, {.reduction = reduction}),
                      c.loss(x, target, {Tensor::full({}, 1), reduction})));
}

TEST_CASE("losses of differences at their seams") {
  auto check = [](const Loss& loss, Scalar x, double expected, double gradient) {
    Single got = of_one(loss, x, 0);
    CHECK(got.loss == doctest::Approx(expected));
    CHECK(got.gradient == gradient);
  };
  check(l1_loss, 0, 0, 0);
  check(l1_loss, -3, 3, -1);
  auto smooth = [](Scalar beta) {
    return [=](const Tensor& x, const Tensor& t, const LossOptions& options) {
      return smooth_l1_loss(x, t, beta, options);
    };
  };
  check(smooth(0), -3, 3, -1);
  check(smooth(0), 0, 0, 0);
  check(smooth(2), 2, 1, 1);
  check(smooth(2), -2, 1, -1);
  check(smooth(2), 1, 0.25, 0.5);
  auto huber = [](const Tensor& x, const Tensor& t, const LossOptions& options) {
    return huber_loss(x, t, 2, options);
  };
  check(huber, 2, 2, 2);
  check(huber, -3, 4, -2);
  CHECK(std::isnan(of_one(huber, not_a_number, 0).gradient));
}

// The numbers are those of torch 2.13.
TEST_CASE("binary_cross_entropy counts a logarithm as no less than -100") {
  auto check = [](Scalar p, Scalar target, double loss, double gradient) {
    Single got = of_one(binary_cross_entropy, p, target);
    CHECK(got.loss == doctest::Approx(loss));
    CHECK(got.gradient == doctest::Approx(gradient));
  };
  check(0, 0, 0, 0);
  check(1, 1, 0, 0);
  check(0, 1, 100, -1e12);
  check(1, 0, 100, 1e12);
  check(Scalar(1e-6), 0, 1e-6, 1);
}

TEST_CASE("binary_cross_entropy_with_logits is exact for any logit") {
  auto check = [](Scalar logit, Scalar target, double loss, double gradient) {
    Single got = of_one(binary_cross_entropy_with_logits, logit, target);
    CHECK(got.loss == doctest::Approx(loss).epsilon(1e-6));
    CHECK(got.gradient == doctest::Approx(gradient).epsilon(1e-6));
  };
  check(0, 0, std::log(2), 0.5);
  check(1000, 1, 0, 0);
  check(-1000, 1, 1000, -1);
  check(1000, 0, 1000, 1);
  check(20, 1, std::log1p(std::exp(-20.0)), 0);
  check(-20, 0, std::log1p(std::exp(-20.0)), std::exp(-20.0));
}

TEST_CASE("the mean over nothing is NaN, and the sum 0") {
  Tensor nothing = Tensor::zeros({0, 3});
  for (const RealLoss& c : real_losses()) {
    CHECK(std::isnan(c.loss(nothing, nothing, {}).item()));
    CHECK(c.loss(nothing, nothing, {.reduction = Reduction::sum}).item() == 0);
  }
}

TEST_CASE("losses refuse what they cannot compare, by name") {
  Tensor x = Tensor::zeros({3}), other = Tensor::zeros({2, 3}), same = Tensor::zeros({3});
  for (const RealLoss& c : real_losses()) {
    const std::string name = c.name;
    auto refused = [&](const Tensor& weights, Reduction reduction = Reduction::mean) {
      return refusal([&] { c.loss(x, same, {weights, reduction}); });
    };
    CHECK(refusal([&] { c.loss(x, other, {}); }) ==
          name + ": [3] for targets of [2, 3], expected equal shapes");
    CHECK(refused(other) == name + ": weights: expand: [2, 3] to the shorter [3]");
    CHECK(refused(Tensor::zeros({3})) ==
          name + ": a mean over weights whose sum is 0, expected more than 0");
    CHECK(refused(Tensor::full({1}, -1)) ==
          name + ": a weight of -1, expected a finite one of at least 0");
    CHECK(refused(Tensor::full({1}, infinity), Reduction::sum) ==
          name + ": a weight of inf, expected a finite one of at least 0");
    CHECK(refused(Tensor::full({1}, 1).require_gradient()) ==
          name + ": weights that require a gradient, expected constant ones; detach() them");
    CHECK(c.loss(x, same, {Tensor::zeros({3}), Reduction::sum}).item() == 0);
  }
  CHECK(refusal([&] { smooth_l1_loss(x, same, -1); }) ==
        "smooth_l1_loss: beta -1, expected a finite number of at least 0");
  CHECK(refusal([&] { huber_loss(x, same, 0); }) ==
        "huber_loss: delta 0, expected a finite number greater than 0");
  auto compare = [](Scalar p, Scalar target) {
    return refusal([&] { binary_cross_entropy(Tensor::full({}, p), Tensor::full({}, target)); });
  };
  CHECK(compare(1.5, 0) == "binary_cross_entropy: 1.5 for a target of 0, expected both in 0 to 1");
  CHECK(compare(0.5, -1) ==
        "binary_cross_entropy: 0.5 for a target of -1, expected both in 0 to 1");
  CHECK(compare(not_a_number, 1) ==
        "binary_cross_entropy: nan for a target of 1, expected both in 0 to 1");
}
