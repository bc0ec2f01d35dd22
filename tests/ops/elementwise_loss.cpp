#include "ops/elementwise_loss.h"

#include <cmath>

#include "ops/elementwise.h"
#include "tests/support/op_row.h"
#include "tests/support/refusal.h"
#include "tests/support/specials.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

using Loss = Tensor (*)(const Tensor&, const Tensor&);

/// The mean of f(x, t) over all elements.
template <class F>
std::vector<OpRow> loss_rows(const char* name, Loss loss, F f, double low, double high) {
  std::vector<OpRow> rows;
  for (const Dims& shape : {Dims{}, Dims{1}, Dims{5}, Dims{3, 4}, Dims{2, 3, 2}})
    rows.push_back({name,
                    {shape, shape},
                    [=](const std::vector<Tensor>& in) { return loss(in[0], in[1]); },
                    [=](const std::vector<Numbers>& in) {
                      Numbers y(Dims{});
                      for (size_t n = 0; n < in[0].values.size(); ++n)
                        y.values[0] += f(in[0].values[n], in[1].values[n]);
                      y.values[0] = y.values[0] / Bounded(static_cast<double>(in[0].values.size()));
                      return y;
                    },
                    low,
                    high});
  return rows;
}

/// A loss of one element, and what it passes on.
struct Single {
  double loss, gradient;
};

Single of_one(Loss loss, Scalar x, Scalar target) {
  Tensor input = Tensor::full({}, x).require_gradient();
  Tape tape;
  Tensor y = loss(input, Tensor::full({}, target));
  tape.backward(y);
  return {static_cast<double>(y.item()), static_cast<double>(input.gradient().item())};
}

}  // namespace

TEST_CASE("mse_loss: values and gradients") {
  check_rows(loss_rows(
      "mse_loss", mse_loss, [](Bounded x, Bounded t) { return (x - t) * (x - t); }, -2, 2));
}

// The inputs are sigmoids: near 0, the slopes of log p are too steep for difference quotients.
TEST_CASE("binary_cross_entropy: values and gradients") {
  check_rows(loss_rows(
      "binary_cross_entropy",
      [](const Tensor& x, const Tensor& t) { return binary_cross_entropy(sigmoid(x), sigmoid(t)); },
      [](Bounded x, Bounded y) {
        Bounded one(1), p = sigma(x), t = sigma(y);
        return -(t * log(p)) - (one - t) * log(one - p);
      },
      -2, 2));
}

TEST_CASE("binary_cross_entropy_with_logits: values and gradients") {
  check_rows(loss_rows(
      "binary_cross_entropy_with_logits", binary_cross_entropy_with_logits,
      [](Bounded z, Bounded t) {
        Bounded one(1), p = sigma(z);
        return -(t * log(p)) - (one - t) * log(one - p);
      },
      -4, 4));
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

TEST_CASE("losses over nothing are NaN") {
  Tensor nothing = Tensor::zeros({0, 3});
  for (Loss loss : {mse_loss, binary_cross_entropy, binary_cross_entropy_with_logits})
    CHECK(std::isnan(loss(nothing, nothing).item()));
}

TEST_CASE("losses refuse what they cannot compare, by name") {
  Tensor x = Tensor::zeros({3}), other = Tensor::zeros({2, 3});
  const std::string unequal = ": [3] for targets of [2, 3], expected equal shapes";
  CHECK(refusal([&] { mse_loss(x, other); }) == "mse_loss" + unequal);
  CHECK(refusal([&] { binary_cross_entropy(x, other); }) == "binary_cross_entropy" + unequal);
  CHECK(refusal([&] { binary_cross_entropy_with_logits(x, other); }) ==
        "binary_cross_entropy_with_logits" + unequal);
  auto compare = [](Scalar p, Scalar target) {
    return refusal([&] { binary_cross_entropy(Tensor::full({}, p), Tensor::full({}, target)); });
  };
  CHECK(compare(1.5, 0) == "binary_cross_entropy: 1.5 for a target of 0, expected both in 0 to 1");
  CHECK(compare(0.5, -1) ==
        "binary_cross_entropy: 0.5 for a target of -1, expected both in 0 to 1");
  CHECK(compare(not_a_number, 1) ==
        "binary_cross_entropy: nan for a target of 1, expected both in 0 to 1");
}
