#include "optim/optimizer.h"

#include <cmath>
#include <limits>

#include "core/machine/parallel.h"
#include "core/tape.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tests/support/refusal.h"

using namespace shiftgrad;

namespace {

constexpr double near_step = std::numeric_limits<Scalar>::epsilon() * 20;

/// Makes `gradient` the gradient of `weight`, by way of a loss Σ weight · gradient.
void set_gradient(const Tensor& weight, const Tensor& gradient) {
  weight.zero_gradient();
  Tape tape;
  tape.backward(sum(weight * gradient));
}

std::vector<Parameter> three_weights(Decay decay = Decay::yes) {
  std::vector<Scalar> start{0.5, -1, 2};
  return {{"w", Tensor::from({3}, start).require_gradient(), decay}};
}

/// What ten steps at rate 0.1 make of the three weights; weight n has gradient sin(t + n) in
/// step t.
std::vector<Scalar> ten_steps(const UpdateRule& rule, Decay decay = Decay::yes) {
  std::vector<Parameter> weights = three_weights(decay);
  Optimizer optimizer(weights, rule);
  for (int t = 0; t < 10; ++t) {
    std::vector<Scalar> gradient;
    for (int n = 0; n < 3; ++n) gradient.push_back(static_cast<Scalar>(std::sin(t + n)));
    set_gradient(weights[0].value, Tensor::from({3}, gradient));
    optimizer.step(0.1);
  }
  return weights[0].value.values();
}

void check_near(const std::vector<Scalar>& values, const std::vector<double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (size_t n = 0; n < values.size(); ++n)
    CHECK(std::abs(static_cast<double>(values[n]) - expected[n]) < near_step);
}

}  // namespace

// import math, torch
//
// def ten_steps(make):
//     w = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
//     optimizer = make([w])
//     for t in range(10):
//         w.grad = torch.tensor([math.sin(t + n) for n in range(3)], dtype=torch.float64)
//         optimizer.step()
//     print(", ".join(f"{x:.16f}" for x in w.tolist()))
//
// ten_steps(lambda w: torch.optim.SGD(w, lr=0.1))
// ten_steps(lambda w: torch.optim.SGD(w, lr=0.1, momentum=0.9, weight_decay=0.2))
// ten_steps(lambda w: torch.optim.Adam(w, lr=0.1))
// ten_steps(lambda w: torch.optim.Adam(w, lr=0.1, betas=(0.8, 0.95), eps=0.01, weight_decay=0.2))
// ten_steps(lambda w: torch.optim.AdamW(w, lr=0.1, betas=(0.8, 0.95), eps=0.01, weight_decay=0.2))
TEST_CASE("optimizer: ten steps as PyTorch makes them") {
  check_near(ten_steps(SGD{}), {0.3044790517892619, -1.1411188371218011, 2.0430272820140591});
  check_near(ten_steps(SGD{.momentum = 0.9, .weight_decay = 0.2}),
             {-0.3397537301297083, -0.8294363229045789, 0.5431354474115720});
  check_near(ten_steps(Adam{}), {0.1995651121957362, -1.3654572894996926, 1.8538176815046081});
  check_near(ten_steps(Adam{.beta1 = 0.8, .beta2 = 0.95, .eps = 0.01, .weight_decay = 0.2}),
             {0.0877339047306130, -1.0960323052422205, 1.5167886018915528});
  check_near(ten_steps(AdamW{.beta1 = 0.8, .beta2 = 0.95, .eps = 0.01, .weight_decay = 0.2}),
             {0.1666074918131347, -1.0991246859182691, 1.5323329719984253});
}

TEST_CASE("optimizer: parameters without decay do not decay") {
  CHECK(ten_steps(SGD{.weight_decay = 0.2}, Decay::no) == ten_steps(SGD{}));
  CHECK(ten_steps(Adam{.weight_decay = 0.2}, Decay::no) == ten_steps(Adam{}));
  CHECK(ten_steps(AdamW{.weight_decay = 0.2}, Decay::no) == ten_steps(AdamW{.weight_decay = 0}));
}

TEST_CASE("optimizer: a factor of the learning rate is a learning rate of one's own") {
  auto after_three = [](std::vector<double> rates, std::vector<double> factors) {
    std::vector<Parameter> weights = three_weights();
    weights.push_back({"other", Tensor::full({2}, 1).require_gradient(), Decay::yes});
    std::vector<Scalar> values;
    for (double rate : rates) {
      Optimizer optimizer(weights, AdamW{}, factors);
      for (int t = 0; t < 3; ++t) {
        set_gradient(weights[0].value, Tensor::full({3}, 1));
        set_gradient(weights[1].value, Tensor::full({2}, 2));
        optimizer.step(rate);
      }
    }
    for (const Parameter& weight : weights)
      for (Scalar value : weight.value.values()) values.push_back(value);
    return values;
  };
  std::vector<Scalar> slow = after_three({0.1}, {}), fast = after_three({0.25}, {1, 1});
  std::vector<Scalar> mixed = after_three({0.1}, {1, 2.5});
  for (size_t n = 0; n < 3; ++n) CHECK(mixed[n] == slow[n]);
  for (size_t n = 3; n < 5; ++n) CHECK(mixed[n] == fast[n]);
  CHECK(slow != fast);
  CHECK(refusal([] {
          Optimizer(three_weights(), SGD{}, {1, 2});
        }) == "optimizer: 2 factors of the learning rate, expected 1");
}

TEST_CASE("optimizer: a large parameter is updated as its elements by themselves") {
  int64_t count = 20011;
  Tensor large = Tensor::zeros({count}).require_gradient();
  Tensor gradient = Tensor::empty({count});
  for (int64_t i = 0; i < count; ++i) gradient.mutable_data()[i] = static_cast<Scalar>(std::sin(i));
  auto steps = [&](const Tensor& weight, const Tensor& slope) {
    Optimizer optimizer({{"w", weight, Decay::yes}}, AdamW{});
    for (int t = 0; t < 3; ++t) {
      set_gradient(weight, slope);
      optimizer.step(0.01);
    }
    return weight.values();
  };
  std::vector<Scalar> values = steps(large, gradient);
  for (int64_t i : {0, 1023, 1024, 8191, 8192, 16384, 20010}) {
    Tensor one = Tensor::full({1}, gradient.data()[i]);
    CHECK(steps(Tensor::zeros({1}).require_gradient(), one)[0] == values[i]);
  }
  for (int threads : {1, 4}) {
    ThreadLimit limit(threads);
    CHECK(steps(Tensor::zeros({count}).require_gradient(), gradient) == values);
  }
}

TEST_CASE("optimizer: a parameter without a gradient stays, and its updates are not counted") {
  std::vector<Parameter> weights = three_weights();
  weights.push_back({"still", Tensor::full({2}, 1).require_gradient(), Decay::yes});
  Optimizer optimizer(weights, AdamW{});
  set_gradient(weights[0].value, Tensor::full({3}, 1));
  optimizer.step(0.1);
  CHECK(weights[1].value.values() == std::vector<Scalar>{1, 1});
  CHECK(optimizer.moments()[0].updates == 1);
  CHECK(optimizer.moments()[1].updates == 0);
  optimizer.zero_gradients();
  CHECK(!weights[0].value.gradient().defined());
  optimizer.step(0.1);
  CHECK(optimizer.moments()[0].updates == 1);
}

TEST_CASE("optimizer: goes on from saved moments") {
  auto step = [](const std::vector<Parameter>& weights, Optimizer& optimizer, int t) {
    set_gradient(weights[0].value, Tensor::full({3}, static_cast<Scalar>(std::cos(t))));
    optimizer.step(0.1);
  };
  std::vector<Parameter> once = three_weights(), twice = three_weights();
  Optimizer whole(once, Adam{}), first(twice, Adam{}), second(twice, Adam{});
  for (int t = 0; t < 6; ++t) step(once, whole, t);
  for (int t = 0; t < 3; ++t) step(twice, first, t);
  second.set_moments(first.moments());
  for (int t = 3; t < 6; ++t) step(twice, second, t);
  CHECK(once[0].value.values() == twice[0].value.values());

  CHECK(refusal([&] { second.set_moments({}); }) ==
        "optimizer: moments of 0 parameters, expected 1");
  CHECK(refusal([&] {
          second.set_moments({Moments{1, Tensor::zeros({2}), Tensor::zeros({3})}});
        }) == "optimizer: the moments of w do not fit it");
}

TEST_CASE("optimizer: settings out of range") {
  auto refused = [](const UpdateRule& rule) {
    return refusal([&] { Optimizer(three_weights(), rule); });
  };
  CHECK(refused(AdamW{.beta1 = 1}) == "adamw: beta1 1, expected 0 to less than 1");
  CHECK(refused(Adam{.beta2 = -0.5}) == "adam: beta2 -0.5, expected 0 to less than 1");
  CHECK(refused(Adam{.eps = std::nan("")}) == "adam: eps nan, expected at least 0");
  CHECK(refused(SGD{.momentum = 2}) == "sgd: momentum 2, expected 0 to less than 1");
  CHECK(refused(SGD{.weight_decay = -1}) == "sgd: weight_decay -1, expected at least 0");
}

TEST_CASE("optimizer: a rate that would ruin the weights is refused, and changes nothing") {
  std::vector<Parameter> weights = three_weights();
  for (double rate : {std::nan(""), -1.0, HUGE_VAL}) {
    Optimizer optimizer(weights, SGD{.momentum = 0.5});
    set_gradient(weights[0].value, Tensor::full({3}, 1));
    std::vector<Scalar> before = weights[0].value.values();
    std::string expected = rate > 0 ? ", expected at most 1e+38" : ", expected at least 0";
    CHECK(refusal([&] { optimizer.step(rate); }) ==
          text("optimizer: learning rate ", rate, expected));
    CHECK(weights[0].value.values() == before);
    CHECK(optimizer.moments()[0].updates == 0);
    CHECK(refusal([&] { Optimizer(weights, SGD{}, {rate}); }) ==
          text("optimizer: factor ", rate, " of w", expected));
  }
  Optimizer scaled(weights, SGD{}, {1e30});
  CHECK(refusal([&] { scaled.step(1e30); }) ==
        "optimizer: learning rate 1e+60 of w, expected at most 1e+38");
  Optimizer(weights, SGD{}, {0}).step(0);
}

TEST_CASE("optimizer: a parameter that two lists share is refused, with both names") {
  std::vector<Parameter> weights = three_weights();
  weights.push_back({"again", weights[0].value, Decay::no});
  CHECK(refusal([&] { Optimizer(weights, SGD{}); }) ==
        "optimizer: the parameters w and again have elements in common, expected each of them "
        "once");
}
