// A learning rate that is a function of what a training found.

#include "optim/rate_function.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "optim/trainer.h"
#include "tests/support/refusal.h"
#include "tests/support/slope.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/threads_as_peers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// Halves the rate where the last evaluation was no better than the one before.
double halving(const RateInput& now) {
  if (now.step == 0) return 0.9;
  size_t n = now.losses.size();
  bool is_plateau = now.is_evaluated && n > 1 && now.losses[n - 1] >= now.losses[n - 2] / 2;
  return is_plateau ? now.learning_rate / 2 : now.learning_rate;
}

LoopConfig config(const RateFunction& rate) {
  return {.rate = rate, .max_iters = 12, .eval_interval = 3};
}

}  // namespace

TEST_CASE("rate function: it gets the step, the rate before, and all evaluations") {
  std::vector<RateInput> inputs;
  std::vector<double> rates, losses;
  Slope training(config([&](const RateInput& now) {
                   inputs.push_back(now);
                   return halving(now);
                 }),
                 slope());
  training.run(
      {.on_step = [&](const StepReport& r) { rates.push_back(r.learning_rate); },
       .on_evaluation = [&](const EvaluationReport& r) { losses.push_back(r.validation.nats); }});
  REQUIRE(inputs.size() == 12);
  for (size_t n = 0; n < 12; ++n) {
    CAPTURE(n);
    CHECK(inputs[n].step == static_cast<int64_t>(n));
    CHECK(inputs[n].learning_rate == (n == 0 ? 0 : rates[n - 1]));
    CHECK(inputs[n].is_evaluated == (n > 0 && n % 3 == 0));
    CHECK(inputs[n].losses == std::vector<double>(losses.begin(), losses.begin() + n / 3));
  }
  // w - 3 swings at a rate of 0.9, until the first plateau halves it.
  CHECK(rates[5] == 0.9);
  CHECK(rates[6] == 0.45);
}

TEST_CASE("rate function: a resumed training has the rates of one left alone, at any step") {
  auto run = [](Slope& training, std::vector<double>& rates, int64_t end) {
    training.run({.on_step = [&](const StepReport& r) { rates.push_back(r.learning_rate); },
                  .should_stop = [&] { return training.state().step == end; }});
  };
  std::vector<double> all;
  Slope whole(config(halving), slope());
  run(whole, all, 12);
  for (int64_t stop = 0; stop <= 12; ++stop) {
    CAPTURE(stop);
    std::vector<double> rates;
    Slope first(config(halving), slope());
    if (stop > 0) run(first, rates, stop);
    Slope second(config(halving), first.w);
    second.resume(first.saved(), "file");
    CHECK(second.saved() == first.saved());
    run(second, rates, 12);
    CHECK(rates == all);
    CHECK(second.w.item() == whole.w.item());
    CHECK(second.saved() == whole.saved());
  }
}

TEST_CASE("rate function: what it needs is read from a file, and refused where it is spoiled") {
  Slope first(config(halving), slope());
  first.run({.should_stop = [&] { return first.state().step == 7; }});
  std::map<std::string, StoredTensor> saved = first.saved();
  CHECK(saved.at("rate.losses").shape == Dims{2});
  auto refused = [&](const LoopConfig& own, auto change) {
    std::map<std::string, StoredTensor> spoiled = saved;
    change(spoiled);
    Slope second(own, slope());
    std::string reason = refusal([&] { second.resume(spoiled, "file"); });
    CHECK(second.state().step == 0);
    return reason;
  };
  auto nothing = [](auto&) {};
  CHECK(refused(config({}), nothing) ==
        "file: unexpected tensors \"rate.is_evaluated\", \"rate.last\", \"rate.losses\"");
  CHECK(refused(config(halving), [](auto& all) { all.erase("rate.losses"); }) ==
        "file: missing tensors \"rate.losses\"");
  CHECK(refused(config(halving), [](auto& all) {
          all.at("rate.losses").shape = {2, 1};
        }) == "file: tensor \"rate.losses\": [2, 1], expected [2]");
  CHECK(refused(config(halving), [](auto& all) {
          StoredTensor& losses = all.at("rate.losses");
          losses.bytes = std::vector(losses.bytes.size(), std::byte{0xff});
        }) == "file: tensor \"rate.losses\": nan, expected a loss");
  // A run with a schedule saves what it always did.
  for (const auto& [name, tensor] : Slope(config({}), slope()).saved())
    CHECK(!name.starts_with("rate."));
}

TEST_CASE("rate function: one that fails leaves the training as it was") {
  auto refused = [](const RateFunction& rate) {
    Slope training(config(rate), slope());
    training.step();
    auto before = training.saved();
    std::string reason = refusal([&] { training.step(); });
    CHECK(training.saved() == before);
    return reason;
  };
  auto then = [](double rate) {
    return [=](const RateInput& now) { return now.step == 0 ? 0.1 : rate; };
  };
  CHECK(refused(then(std::nan(""))) == "trainer: step 2: rate of nan, expected at least 0");
  CHECK(refused(then(-1)) == "trainer: step 2: rate of -1, expected at least 0");
  CHECK(refused(then(std::numeric_limits<double>::infinity())) ==
        "trainer: step 2: rate of inf, expected at least 0");
  CHECK(refused([](const RateInput& now) -> double {
          if (now.step > 0) fail("no plateau yet");
          return 0.1;
        }) == "trainer: step 2: rate: no plateau yet");
  Slope foreign(config([](const RateInput& now) { return now.losses.at(0); }), slope());
  CHECK(refusal([&] { foreign.step(); }).starts_with("trainer: step 1: rate: "));
  CHECK(foreign.state().step == 0);
  CHECK(foreign.w.item() == 1);
}

TEST_CASE(
    "training loop: peers compare the settings and the parameters, unless a task notes more") {
  auto refused = [](auto change) {
    return refusal([&] {
      ThreadsAsPeers::run(2, [&](ProcessGroup& peers) {
        LoopConfig own{.batch_size = 2};
        Tensor w = slope();
        if (peers.rank() == 1) change(own, w);
        Slope(own, w, {}, peers).check_peers();
      });
    });
  };
  CHECK(refused([](LoopConfig& own, Tensor&) { own.grad_clip = 1; }) ==
        "trainer: rank 1 begins with another grad_clip than rank 0");
  CHECK(refused([](LoopConfig&, Tensor& w) { w.mutable_data()[0] = 2; }) ==
        "trainer: rank 1 begins with another w than rank 0");
}
