// Training by several peers, here threads: it is the training of one.

#include <doctest/doctest.h>

#include "examples/apps/char_lm/auxiliary_losses.h"
#include "optim/trainer.h"
#include "tests/support/parallel_training.h"
#include "tests/support/refusal.h"
#include "tests/support/small_models.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

struct Setting {
  LanguageModelConfig model;
  TrainerConfig training;
  char_lm::AuxiliaryLossesConfig auxiliary{};
};

/// Models with and without memory, dropout, several batches a step and auxiliary losses.
std::vector<Setting> settings() {
  TrainerConfig streams{.batch_size = 6,
                        .block_size = 8,
                        .batches = BatchType::streams,
                        .mem_len = 5,
                        .max_iters = 50,
                        .warmup_iters = 10,
                        .eval_interval = 1000};
  TrainerConfig blocks = streams;
  blocks.batches = BatchType::blocks;
  blocks.mem_len = 0;
  std::vector<Setting> all;
  for (double rate : {0.0, 0.2})
    for (int64_t batches : {1, 2}) {
      all.push_back({small_transformer_xl(), streams});
      all.push_back({small_transformer(8), blocks});
      for (Setting* one : {&all.end()[-1], &all.end()[-2]}) {
        one->model.dropout = one->model.attention_dropout = rate;
        one->training.gradient_accumulation_steps = batches;
        one->auxiliary = {
            .intermediate_losses = batches > 1 ? 0.5 : 0, .targets = batches, .training_iters = 50};
      }
    }
  return all;
}

LanguageModel new_model(const Setting& setting) {
  Random random{.seed = 1};
  return LanguageModel(setting.model, random);
}

/// Trains for `steps` with `peers`, from the start or from where another training was.
Trained train_by_peers(const Setting& setting, int64_t peers, int64_t steps,
                       const Trained* from = nullptr) {
  std::vector<int32_t> text = random_text(500, 7), validation = random_text(99, 7, 12);
  return by_peers(peers, [&](ProcessGroup& peer) {
    LanguageModel model = new_model(setting);
    Random random{.seed = 2};
    char_lm::AuxiliaryLosses auxiliary(setting.auxiliary, model.traits(), random);
    Trainer trainer(model, text, validation, setting.training, peer, &auxiliary);
    return trained(model, trainer, steps, from);
  });
}

}  // namespace

TEST_CASE("data parallel: any number of peers makes the steps of one") {
  for (const Setting& setting : settings()) {
    CAPTURE(setting.training.batches);
    CAPTURE(setting.training.gradient_accumulation_steps);
    CAPTURE(setting.model.dropout);
    Trained one = train_by_peers(setting, 1, 50);
    for (int64_t peers : {2, 3, 4}) {
      CAPTURE(peers);
      check_near(train_by_peers(setting, peers, 50), one);
    }
    // What the tolerance has to tell from rounding.
    Setting other = setting;
    ++other.training.seed;
    if (setting.model.dropout > 0)
      CHECK(weights_apart(train_by_peers(other, 1, 50), one) > 10 * parallel_tolerance);
  }
}

TEST_CASE("data parallel: repeatable, and resumed with the same bits by as many peers") {
  for (const Setting& setting : settings())
    for (int64_t peers : {2, 3}) {
      CAPTURE(setting.training.batches);
      CAPTURE(peers);
      Trained whole = train_by_peers(setting, peers, 12), half = train_by_peers(setting, peers, 5);
      CHECK(train_by_peers(setting, peers, 12).has_bits_of(whole));
      CHECK(train_by_peers(setting, peers, 7, &half).after(0).has_bits_of(whole.after(5)));
    }
}

TEST_CASE("data parallel: resumed by another number of peers") {
  for (const Setting& setting : settings()) {
    CAPTURE(setting.training.batches);
    Trained whole = train_by_peers(setting, 1, 20), half = train_by_peers(setting, 4, 10);
    for (int64_t peers : {1, 2, 3})
      check_near(train_by_peers(setting, peers, 10, &half), whole.after(10));
  }
}

TEST_CASE("data parallel: an evaluation in every mode") {
  LanguageModel model = loud_model(small_transformer_xl());
  for (int64_t length : {2, 9, 40, 83}) {
    std::vector<int32_t> text = random_text(length, 7);
    for (EvaluationMode mode :
         {EvaluationMode::memory, EvaluationMode::chunks, EvaluationMode::sliding}) {
      CAPTURE(mode);
      CAPTURE(length);
      EvaluationConfig config{.mode = mode, .tgt_len = 5, .mem_len = 7, .batch_size = 3};
      if (length == 2) config.batch_size = 1;
      std::vector<double> losses;
      Evaluation one = evaluate(model, text, config, &losses);
      for (int64_t size : {2, 3, 5})
        ThreadsAsPeers::run(size, [&](ProcessGroup& peers) {
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
  ThreadsAsPeers::run(3, [&](ProcessGroup& peers) {
    LanguageModel model = new_model(settings()[0]);
    Trainer trainer(model, text, {}, settings()[0].training, peers);
    int64_t saves = 0;
    trainer.run({.on_save = [&] { ++saves; },
                 .should_stop = [&] { return peers.rank() == 1 && trainer.state().step == 4; }});
    CHECK(trainer.state().step == 4);
    CHECK(saves == 1);
  });
}

TEST_CASE("data parallel: one that is asked to stop in an evaluation stops all, and all go on") {
  std::vector<int32_t> text = random_text(500, 7), validation = random_text(99, 7, 12);
  for (Setting setting : {settings()[0], settings()[1]}) {
    setting.training.max_iters = 12;
    setting.training.eval_interval = 4;
    // Runs until the second evaluation has scored this many batches, or to the end if they are -1.
    auto run = [&](ProcessGroup& peers, int64_t most, const Trained* from) {
      LanguageModel model = new_model(setting);
      Trainer trainer(model, text, validation, setting.training, peers);
      if (from) {
        load_state_dict(model, from->weights, "before");
        trainer.resume(from->state, "before");
      }
      Trained result;
      int64_t scored = 0;
      trainer.run({.on_evaluation_progress =
                       [&](int64_t, int64_t) { scored += trainer.state().step == 8 ? 1 : 0; },
                   .on_evaluation = [&](const EvaluationReport& r) { result.evaluation = r; },
                   .on_save =
                       [&] {
                         result.weights = state_dict(model);
                         result.state = trainer.saved();
                       },
                   .should_stop = [&] { return peers.rank() == 1 && scored == most; }});
      if (most == 1) CHECK(scored <= 1);  // in the first round all have a batch
      return result;
    };
    for (int64_t size : {2, 3, 5}) {
      CAPTURE(size);
      Trained whole = by_peers(size, [&](ProcessGroup& peers) { return run(peers, -1, nullptr); });
      for (int64_t most : {1, 2}) {
        CAPTURE(most);
        Trained half =
            by_peers(size, [&](ProcessGroup& peers) { return run(peers, most, nullptr); });
        CHECK(half.evaluation.step == 4);
        CHECK(half.state.contains("evaluation_due"));
        Trained rest = by_peers(size, [&](ProcessGroup& peers) { return run(peers, -1, &half); });
        CHECK(rest.has_bits_of(whole));
      }
    }
  }
}

TEST_CASE("data parallel: what cannot be") {
  std::vector<int32_t> text = random_text(500, 7), other = random_text(500, 7, 12);
  Setting setting = settings()[0];
  auto refused = [&](int64_t peers, const std::function<void(ProcessGroup&)>& work) {
    return refusal([&] { ThreadsAsPeers::run(peers, work); });
  };
  CHECK(refused(7, [&](ProcessGroup& peers) {
          LanguageModel model = new_model(setting);
          Trainer(model, text, {}, setting.training, peers);
        }) == "trainer: batch_size 6 for 7 peers, expected a row for each");
  CHECK(refused(3, [&](ProcessGroup& peers) {
          LanguageModel model = new_model(setting);
          Trainer(model, peers.rank() == 1 ? other : text, text, setting.training, peers)
              .check_peers();
        }) == "trainer: rank 1 begins with another train_text than rank 0");
  CHECK(refused(3, [&](ProcessGroup& peers) {
          LanguageModel model = new_model(setting);
          if (peers.rank() == 2) parameters(model)[3].value.mutable_data()[1] += 1;
          Trainer(model, text, text, setting.training, peers).check_peers();
        }) == "trainer: rank 2 begins with another blocks.0.mixer.content_bias than rank 0");
  CHECK(refused(2, [&](ProcessGroup& peers) {
          LanguageModel model = new_model(setting);
          Setting own = setting;
          if (peers.rank() == 1) own.training.learning_rate *= 2;
          Trainer(model, text, text, own.training, peers).check_peers();
        }) == "trainer: rank 1 begins with another learning_rate than rank 0");
  CHECK(refused(2, [&](ProcessGroup& peers) {
          LanguageModel model = new_model(setting);
          Random random;
          char_lm::AuxiliaryLosses auxiliary(
              {.targets = 2, .extra_targets_weight = peers.rank() == 1 ? 0.25 : 0.5},
              model.traits(), random);
          Trainer(model, text, text, setting.training, peers, &auxiliary).check_peers();
        }) == "trainer: rank 1 begins with another auxiliary loss than rank 0");
  CHECK(refused(2, [&](ProcessGroup& peers) {
          Setting own = setting;
          if (peers.rank() == 1) own.model.attention_dropout += 0.1;
          LanguageModel model = new_model(own);
          Trainer(model, text, text, own.training, peers).check_peers();
        }) == "trainer: rank 1 begins with another attention_dropout than rank 0");
}
