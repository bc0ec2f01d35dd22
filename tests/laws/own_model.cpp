// A model that the library does not know can do what a LanguageModel can: it is trained, resumed
// with the same bits, and scored.

#include "tests/support/own_model.h"

#include "nn/models/module_file.h"
#include "nn/state_dict.h"
#include "optim/trainer.h"
#include "tests/support/refusal.h"
#include "tests/support/small_trainings.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/threads_as_peers.h"

using namespace shiftgrad;
using namespace shiftgrad::test;

namespace {

OwnModel dropping_model() {
  OwnModel model = own_model();
  model.dropout = 0.1;
  return model;
}

TrainerConfig config(BatchType batches) {
  return {.batch_size = 3,
          .block_size = 8,
          .batches = batches,
          .max_iters = 12,
          .learning_rate = 0.01,
          .warmup_iters = 2};
}

}  // namespace

TEST_CASE("own model: it learns, and goes on after a save with the same bits") {
  TemporaryFolder folder;
  std::vector<int32_t> text = random_text(300, 7);
  for (BatchType batches : {BatchType::blocks, BatchType::streams}) {
    CAPTURE(batches);
    OwnModel whole = dropping_model();
    Trainer trainer(whole, text, {}, config(batches));
    double first = trainer.evaluation().train.nats;
    trainer.run();
    CHECK(trainer.evaluation().train.nats < first);

    OwnModel begun = dropping_model(), resumed = dropping_model();
    Trainer first_half(begun, text, {}, config(batches));
    for (int n = 0; n < 5; ++n) first_half.step();
    std::string path = folder.file("half");
    save(begun, path, {.step = 5, .trainer = first_half.saved()});
    Trainer second_half(resumed, text, {}, config(batches));
    second_half.resume(load(resumed, path).trainer, path);
    second_half.run();
    CHECK(state_dict(resumed) == state_dict(whole));
  }
}

TEST_CASE("own model: sliding windows score what single passes do") {
  OwnModel model = dropping_model();
  std::vector<int32_t> text = random_text(40, 7);
  // Without limits on the memory, each mode lets each token see all before it.
  auto nats = [&](const EvaluationConfig& config) { return evaluate(model, text, config).nats; };
  double whole = nats({.mode = EvaluationMode::chunks, .tgt_len = 39});
  CHECK(nats({.mode = EvaluationMode::memory, .tgt_len = 5, .mem_len = 50}) ==
        doctest::Approx(whole));
  CHECK(nats({.mode = EvaluationMode::memory, .tgt_len = 5, .mem_len = 45, .ext_len = 3}) ==
        doctest::Approx(whole));
  CHECK(nats({.mode = EvaluationMode::sliding, .tgt_len = 39}) == doctest::Approx(whole));
}

TEST_CASE("own model: peers train it as one, and must have the same one") {
  std::vector<int32_t> text = random_text(300, 7);
  auto trained = [&](int64_t count) {
    std::map<std::string, StoredTensor> weights;
    ThreadsAsPeers::run(count, [&](ProcessGroup& peers) {
      OwnModel model = dropping_model();
      Trainer trainer(model, text, {}, config(BatchType::blocks), peers);
      trainer.check_peers();
      trainer.run();
      if (peers.rank() == 0) weights = state_dict(model);
    });
    return weights;
  };
  CHECK(trained(2) == trained(2));
  CHECK(refusal([&] {
          ThreadsAsPeers::run(2, [&](ProcessGroup& peers) {
            OwnModel model = dropping_model();
            if (peers.rank() == 1) model.table.mutable_data()[3] += 1;
            Trainer(model, text, {}, config(BatchType::blocks), peers).check_peers();
          });
        }) == "trainer: rank 1 begins with another table than rank 0");
}

TEST_CASE("own model: what it does not offer is refused") {
  OwnModel model = dropping_model();
  std::vector<int32_t> text = random_text(300, 7);
  auto refused = [&](auto change) {
    TrainerConfig changed = config(BatchType::streams);
    change(changed);
    return refusal([&] { Trainer(model, text, {}, changed); });
  };
  CHECK(refused([](auto& c) { c.mem_len = 4; }) == "trainer: mem_len 4 for a model without memory");
}
