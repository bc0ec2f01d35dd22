// Training by several peers, here threads: it is the training of one.

#include <doctest/doctest.h>

#include <cmath>

#include "nn/state_dict.h"
#include "nn/tensor_file.h"
#include "optim/trainer.h"
#include "refusal.h"
#include "small_models.h"
#include "tests/support/threads_as_peers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

/// AdamW divides by gradients that are nearly 0, and so makes roundings larger.
constexpr double tolerance = sizeof(Scalar) == 4 ? 2e-4 : 1e-10;

struct Setting {
  LanguageModelConfig model;
  TrainerConfig training;
};

/// Models with and without memory, dropout, several batches a step and auxiliary losses.
std::vector<Setting> settings() {
  TrainerConfig streams{.batch_size = 6,
                        .block_size = 8,
                        .batches = "streams",
                        .mem_len = 5,
                        .max_iters = 50,
                        .warmup_iters = 10,
                        .eval_interval = 1000};
  TrainerConfig blocks = streams;
  blocks.batches = "blocks";
  blocks.mem_len = 0;
  std::vector<Setting> all;
  for (double rate : {0.0, 0.2})
    for (int64_t batches : {1, 2}) {
      all.push_back({small_transformer_xl(), streams});
      all.push_back({small_transformer(8), blocks});
      for (Setting* one : {&all.end()[-1], &all.end()[-2]}) {
        one->model.dropout = one->model.attention_dropout = rate;
        one->training.gradient_accumulation_steps = batches;
        one->training.intermediate_losses = batches > 1 ? 0.5 : 0;
        one->training.targets = batches;
      }
    }
  return all;
}

LanguageModel new_model(const Setting& setting) {
  Random random{.seed = 1};
  return LanguageModel(setting.model, random);
}

/// What a training is at some step.
struct Result {
  std::vector<double> losses, norms;
  std::map<std::string, StoredTensor> weights, state;
  EvaluationReport evaluation;

  bool has_bits_of(const Result& other) const {
    return losses == other.losses && norms == other.norms && weights == other.weights &&
           state == other.state && evaluation.train.nats == other.evaluation.train.nats &&
           evaluation.validation.nats == other.evaluation.validation.nats;
  }
};

/// So many steps by so many peers, from the start or from where another result was; of the last.
Result train(const Setting& setting, int64_t peers, int steps, const Result* from = nullptr) {
  std::vector<int32_t> text = random_text(500, 7), validation = random_text(99, 7, 12);
  std::vector<Result> results(peers);
  ThreadsAsPeers::run(peers, [&](Peers& peer) {
    LanguageModel model = new_model(setting);
    Trainer trainer(model, text, validation, setting.training, peer);
    if (from) {
      load_state_dict(model, from->weights, "before");
      trainer.resume(from->state, "before");
    }
    trainer.check_peers();
    Result& result = results[peer.rank()];
    for (int n = 0; n < steps; ++n) {
      StepReport report = trainer.step();
      result.losses.push_back(report.loss);
      result.norms.push_back(report.gradient_norm);
      CHECK(report.tokens % (6 * setting.training.gradient_accumulation_steps) == 0);
    }
    result.evaluation = trainer.evaluate();
    result.weights = state_dict(model);
    result.state = trainer.saved();
  });
  for (const Result& result : results) CHECK(result.has_bits_of(results[0]));
  return results.back();
}

/// How far apart the weights are, beside the largest.
double distance(const Result& a, const Result& b) {
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

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double farthest = 0;
  for (size_t n = 0; n < a.size(); ++n) farthest = std::max(farthest, std::abs(a[n] / b[n] - 1));
  return farthest;
}

}  // namespace

TEST_CASE("data parallel: any number of peers makes the steps of one") {
  for (const Setting& setting : settings()) {
    CAPTURE(setting.training.batches);
    CAPTURE(setting.training.gradient_accumulation_steps);
    CAPTURE(setting.model.dropout);
    Result one = train(setting, 1, 50);
    for (int64_t peers : {2, 3, 4}) {
      CAPTURE(peers);
      Result several = train(setting, peers, 50);
      CHECK(distance(several, one) < tolerance);
      CHECK(distance(several.losses, one.losses) < tolerance);
      CHECK(distance(several.norms, one.norms) < tolerance);
      CHECK(several.evaluation.validation.nats ==
            doctest::Approx(one.evaluation.validation.nats).epsilon(tolerance));
      CHECK(several.evaluation.validation.tokens == one.evaluation.validation.tokens);
    }
    // What the tolerance has to tell from rounding.
    Setting other = setting;
    ++other.training.seed;
    if (setting.model.dropout > 0) CHECK(distance(train(other, 1, 50), one) > 10 * tolerance);
  }
}

TEST_CASE("data parallel: repeatable, and resumed with the same bits by as many peers") {
  for (const Setting& setting : settings())
    for (int64_t peers : {2, 3}) {
      CAPTURE(setting.training.batches);
      CAPTURE(peers);
      Result whole = train(setting, peers, 12), half = train(setting, peers, 5);
      CHECK(train(setting, peers, 12).has_bits_of(whole));
      Result resumed = train(setting, peers, 7, &half);
      whole.losses.erase(whole.losses.begin(), whole.losses.begin() + 5);
      whole.norms.erase(whole.norms.begin(), whole.norms.begin() + 5);
      // The half was evaluated too.
      whole.state.erase("evaluations_since_best");
      resumed.state.erase("evaluations_since_best");
      whole.state.erase("best_loss");
      resumed.state.erase("best_loss");
      CHECK(resumed.has_bits_of(whole));
    }
}

TEST_CASE("data parallel: resumed by another number of peers") {
  for (const Setting& setting : settings()) {
    CAPTURE(setting.training.batches);
    Result whole = train(setting, 1, 20), half = train(setting, 4, 10);
    for (int64_t peers : {1, 2, 3})
      CHECK(distance(train(setting, peers, 10, &half), whole) < tolerance);
  }
}

TEST_CASE("data parallel: an evaluation in every mode") {
  LanguageModel model = loud_model(small_transformer_xl());
  for (int64_t length : {2, 9, 40, 83}) {
    std::vector<int32_t> text = random_text(length, 7);
    for (const char* mode : {"memory", "chunks", "sliding"}) {
      CAPTURE(mode);
      CAPTURE(length);
      EvaluationConfig config{.mode = mode, .tgt_len = 5, .mem_len = 7, .batch_size = 3};
      if (length == 2) config.batch_size = 1;
      std::vector<double> losses;
      Evaluation one = evaluate(model, text, config, &losses);
      for (int64_t size : {2, 3, 5})
        ThreadsAsPeers::run(size, [&](Peers& peers) {
          std::vector<double> own;
          Evaluation several = evaluate(model, text, config, &own, peers);
          CHECK(several.tokens == one.tokens);
          CHECK(several.nats == doctest::Approx(one.nats).epsilon(1e-5));
          std::vector<double> all = sums(peers, own);
          REQUIRE(all.size() == losses.size());
          for (size_t n = 0; n < all.size(); ++n)
            CHECK(all[n] == doctest::Approx(losses[n]).epsilon(1e-4));
        });
    }
  }
}

TEST_CASE("data parallel: one that is asked to stop stops all") {
  std::vector<int32_t> text = random_text(500, 7);
  ThreadsAsPeers::run(3, [&](Peers& peers) {
    LanguageModel model = new_model(settings()[0]);
    Trainer trainer(model, text, {}, settings()[0].training, peers);
    int64_t saves = 0;
    trainer.run({.on_save = [&] { ++saves; },
                 .should_stop = [&] { return peers.rank() == 1 && trainer.state().step == 4; }});
    CHECK(trainer.state().step == 4);
    CHECK(saves == 1);
  });
}

TEST_CASE("data parallel: what cannot be") {
  std::vector<int32_t> text = random_text(500, 7), other = random_text(500, 7, 12);
  Setting setting = settings()[0];
  auto refused = [&](int64_t peers, const std::function<void(Peers&)>& work) {
    return refusal([&] { ThreadsAsPeers::run(peers, work); });
  };
  CHECK(refused(7, [&](Peers& peers) {
          LanguageModel model = new_model(setting);
          Trainer(model, text, {}, setting.training, peers);
        }) == "trainer: batch_size 6 for 7 peers, expected a row for each");
  CHECK(refused(3, [&](Peers& peers) {
          LanguageModel model = new_model(setting);
          Trainer(model, peers.rank() == 1 ? other : text, text, setting.training, peers)
              .check_peers();
        }) == "trainer: rank 1 begins with another train_text than rank 0");
  CHECK(refused(3, [&](Peers& peers) {
          LanguageModel model = new_model(setting);
          if (peers.rank() == 2) parameters(model)[3].value.mutable_data()[1] += 1;
          Trainer(model, text, text, setting.training, peers).check_peers();
        }) == "trainer: rank 2 begins with another blocks.0.mixer.content_bias than rank 0");
  CHECK(refused(2,
                [&](Peers& peers) {
                  LanguageModel model = new_model(setting);
                  Setting own = setting;
                  if (peers.rank() == 1) own.training.optimizer = "sgd";
                  Trainer(model, text, text, own.training, peers).check_peers();
                }) ==
        "trainer: rank 1 begins with another optimizer.second.blocks.0.feed_forward.down.bias than "
        "rank 0");
}
