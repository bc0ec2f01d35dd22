#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/io/tensor_file.h"
#include "nn/state_dict.h"
#include "optim/training_loop.h"
#include "tests/support/threads_as_peers.h"

namespace shiftgrad::test {

/// How far training by several peers may be from that by one: AdamW divides by gradients that are
/// nearly 0, and so makes roundings larger.
constexpr double parallel_tolerance = sizeof(Scalar) == 4 ? 2e-4 : 1e-10;

/// What a training is at some step.
struct Trained {
  std::vector<StepReport> steps;
  std::map<std::string, StoredTensor> weights, state;
  EvaluationReport evaluation;

  std::vector<double> all(double StepReport::*figure) const {
    std::vector<double> result;
    for (const StepReport& step : steps) result.push_back(step.*figure);
    return result;
  }

  bool has_bits_of(const Trained& other) const {
    return all(&StepReport::loss) == other.all(&StepReport::loss) &&
           all(&StepReport::gradient_norm) == other.all(&StepReport::gradient_norm) &&
           weights == other.weights && state == other.state &&
           evaluation.train.nats == other.evaluation.train.nats &&
           evaluation.validation.nats == other.evaluation.validation.nats;
  }

  /// The same training without its first steps and what is known of evaluations before the last.
  Trained after(int64_t step) const {
    Trained rest = *this;
    rest.steps.erase(rest.steps.begin(), rest.steps.begin() + step);
    rest.state.erase("evaluations_since_best");
    rest.state.erase("best_loss");
    return rest;
  }
};

/// So many steps of a trainer of the model, from the start or from where another training was.
inline Trained trained(const Module& model, TrainingLoop& trainer, int64_t steps,
                       const Trained* from = nullptr) {
  if (from) {
    load_state_dict(model, from->weights, "before");
    trainer.resume(from->state, "before");
  }
  trainer.check_peers();
  Trained result;
  for (int64_t n = 0; n < steps; ++n) result.steps.push_back(trainer.step());
  result.evaluation = trainer.evaluation();
  result.weights = state_dict(model);
  result.state = trainer.saved();
  return result;
}

/// The result of peers that all do the same.
inline Trained by_peers(int64_t size, const std::function<Trained(ProcessGroup&)>& work) {
  std::vector<Trained> results(size);
  ThreadsAsPeers::run(size, [&](ProcessGroup& peers) { results[peers.rank()] = work(peers); });
  for (const Trained& result : results) CHECK(result.has_bits_of(results[0]));
  return results.back();
}

/// How far apart the weights are, beside the largest.
inline double weights_apart(const Trained& a, const Trained& b) {
  double farthest = 0, largest = 0;
  for (const auto& [name, tensor] : a.weights) {
    std::vector<Scalar> x = loaded_tensor(name, tensor).values();
    std::vector<Scalar> y = loaded_tensor(name, b.weights.at(name)).values();
    for (size_t n = 0; n < x.size(); ++n) {
      farthest = std::max(farthest, static_cast<double>(std::abs(x[n] - y[n])));
      largest = std::max(largest, static_cast<double>(std::abs(x[n])));
    }
  }
  return farthest / largest;
}

/// The same steps, up to rounding.
inline void check_near(const Trained& several, const Trained& one) {
  CHECK(weights_apart(several, one) < parallel_tolerance);
  REQUIRE(several.steps.size() == one.steps.size());
  for (size_t n = 0; n < one.steps.size(); ++n) {
    CAPTURE(n);
    CHECK(several.steps[n].tokens == one.steps[n].tokens);
    for (auto figure : {&StepReport::loss, &StepReport::gradient_norm})
      CHECK(several.steps[n].*figure ==
            doctest::Approx(one.steps[n].*figure).epsilon(parallel_tolerance));
  }
  const Evaluation& found = several.evaluation.validation;
  CHECK(found.nats == doctest::Approx(one.evaluation.validation.nats).epsilon(parallel_tolerance));
  CHECK(found.tokens == one.evaluation.validation.tokens);
}

}  // namespace shiftgrad::test
