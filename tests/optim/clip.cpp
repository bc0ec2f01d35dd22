#include "optim/clip.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

/// Parameters of any value, with these gradients.
std::vector<Parameter> with_gradients(const std::vector<std::vector<Scalar>>& gradients) {
  std::vector<Parameter> parameters;
  for (const auto& gradient : gradients) {
    Dims shape{static_cast<int64_t>(gradient.size())};
    Tensor weight = Tensor::zeros(shape).require_gradient();
    Tape tape;
    tape.backward(sum(weight * Tensor::from(shape, gradient)));
    parameters.push_back({"w", weight, Decay::no});
  }
  return parameters;
}

}  // namespace

TEST_CASE("clip: the norm is that of all gradients together") {
  std::vector<Parameter> parameters = with_gradients({{3, 0}, {0, 0, 4}});
  parameters.push_back({"none", Tensor::zeros({5}).require_gradient(), Decay::no});
  CHECK(gradient_norm(parameters) == 5);
  CHECK(gradient_norm({}) == 0);
  CHECK(parameters[0].value.gradient().values() == std::vector<Scalar>{3, 0});
}

// import torch
// w = torch.zeros(3); w.grad = torch.tensor([1., -2., 2.])
// print(torch.nn.utils.clip_grad_norm_([w], 1.5), w.grad)  # 3, [0.5, -1, 1]
TEST_CASE("clip: scales only gradients that are too long") {
  std::vector<Parameter> parameters = with_gradients({{1, -2, 2}});
  CHECK(clip_gradient_norm(parameters, 3.1) == 3);
  CHECK(clip_gradient_norm(parameters, 0) == 3);
  CHECK(parameters[0].value.gradient().values() == std::vector<Scalar>{1, -2, 2});
  CHECK(clip_gradient_norm(parameters, 1.5) == 3);
  auto factor = static_cast<Scalar>(1.5 / (3 + 1e-6));
  CHECK(parameters[0].value.gradient().values() ==
        std::vector<Scalar>{factor, -2 * factor, 2 * factor});
}

TEST_CASE("clip: no overflow where the norm fits, and one sum for any number of threads") {
  CHECK(gradient_norm(with_gradients({{Scalar{3e30f}, Scalar{4e30f}}})) ==
        doctest::Approx(5e30).epsilon(1e-6));
  std::vector<Scalar> ramp(100003);
  for (size_t n = 0; n < ramp.size(); ++n) ramp[n] = static_cast<Scalar>(std::sin(n));
  double squares = 0;
  for (Scalar value : ramp) squares += static_cast<double>(value) * static_cast<double>(value);
  std::vector<Parameter> parameters = with_gradients({ramp, {1}, ramp});
  double norm = gradient_norm(parameters);
  CHECK(norm == doctest::Approx(std::sqrt(2 * squares + 1)).epsilon(1e-12));
  ThreadLimit one(1);
  CHECK(gradient_norm(parameters) == norm);
}

TEST_CASE("clip: a norm that is not finite is reported and mends nothing") {
  constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
  std::vector<Parameter> infinite = with_gradients({{1, infinity}});
  CHECK(clip_gradient_norm(infinite, 1) == std::numeric_limits<double>::infinity());
  CHECK(infinite[0].value.gradient().values() == std::vector<Scalar>{1, infinity});
  CHECK(std::isnan(
      clip_gradient_norm(with_gradients({{1}, {std::numeric_limits<Scalar>::quiet_NaN()}}), 1)));
  CHECK(refusal([&] { clip_gradient_norm(infinite, -1); }) ==
        "clip_gradient_norm: max_norm -1, expected at least 0");
}

TEST_CASE("clip: a parameter that stands twice is refused, and not counted twice") {
  std::vector<Parameter> parameters = with_gradients({{1, 1}});
  parameters.push_back({"again", parameters[0].value, Decay::no});
  std::string reason = text("gradient_norm: the parameters ", parameters[0].name,
                            " and again have elements in common, expected each of them once");
  CHECK(refusal([&] { gradient_norm(parameters); }) == reason);
  CHECK(refusal([&] { clip_gradient_norm(parameters, 1); }) == reason);
}
