#include "optim/trainer_state.h"

#include <limits>
#include <memory>

#include "core/io/tensor_file.h"
#include "examples/apps/char_lm/auxiliary_losses.h"
#include "nn/state_dict.h"
#include "ops/shape.h"
#include "optim/trainer.h"
#include "tests/support/refusal.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"

using namespace shiftgrad;
using char_lm::AuxiliaryLosses;

namespace {

using Tensors = std::map<std::string, StoredTensor>;

TrainerConfig config_of(BatchType batches, OptimizerType optimizer = OptimizerType::adamw) {
  return {.batch_size = 3,
          .block_size = 8,
          .batches = batches,
          .mem_len = batches == BatchType::streams ? 11 : 0,
          .max_iters = 20,
          .learning_rate = 1e-2,
          .warmup_iters = 5,
          .optimizer = optimizer};
}

LanguageModelConfig model_config() {
  LanguageModelConfig config = small_transformer_xl();
  config.dropout = config.attention_dropout = 0.1;
  return config;
}

LanguageModel new_model(uint64_t seed = 1) {
  Random random{.seed = seed};
  return LanguageModel(model_config(), random);
}

// Three streams of 70 tokens: nine batches, the last a short one.
const std::vector<int32_t> train_text = random_text(210, 7);
const std::vector<int32_t> validation_text = random_text(50, 7, 12);

/// No auxiliary losses, or those of the paper.
enum class Losses { main, auxiliary };

/// Block 1 of 2 predicts for the first 5 of 20 steps.
std::unique_ptr<AuxiliaryLosses> auxiliary_losses(Losses losses, const LanguageModel& model,
                                                  uint64_t seed) {
  if (losses == Losses::main) return nullptr;
  Random random{.seed = seed};
  return std::make_unique<AuxiliaryLosses>(
      char_lm::AuxiliaryLossesConfig{.intermediate_losses = 1, .targets = 2, .training_iters = 20},
      model.traits(), random);
}

/// A model and its trainer.
struct Run {
  explicit Run(const TrainerConfig& config, uint64_t seed = 1, Losses losses = Losses::main)
      : model(new_model(seed)),
        auxiliary(auxiliary_losses(losses, model, seed)),
        trainer(model, train_text, validation_text, config, alone(), auxiliary.get()) {}

  std::vector<double> steps(int count) {
    std::vector<double> losses;
    for (int n = 0; n < count; ++n) losses.push_back(trainer.step().loss);
    return losses;
  }

  LanguageModel model;
  std::unique_ptr<AuxiliaryLosses> auxiliary;
  Trainer trainer;
};

/// A run of some steps, as another one would find it in a file.
Tensors saved_after(int steps, const TrainerConfig& config, Losses losses = Losses::main) {
  Run run(config, 1, losses);
  run.steps(steps);
  return run.trainer.saved();
}

/// Why a new trainer will not go on from them; it stays at its start.
std::string refused(const Tensors& tensors,
                    const TrainerConfig& config = config_of(BatchType::streams),
                    Losses losses = Losses::main) {
  Run run(config, 1, losses);
  Tensors before = run.trainer.saved();
  std::string reason = refusal([&] { run.trainer.resume(tensors, "file"); });
  CHECK(run.trainer.saved() == before);
  CHECK(reason.starts_with("file: "));
  return reason.substr(std::min<size_t>(reason.size(), 6));
}

template <class Value>
void overwrite(StoredTensor& tensor, Value value) {
  std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
  std::copy_n(reinterpret_cast<const std::byte*>(&value), sizeof value, bytes.begin());
  tensor.bytes = std::move(bytes);
}

}  // namespace

TEST_CASE("trainer state: a run in two parts has the bits of one in one piece") {
  TemporaryFolder folder;
  std::string path = folder.file("state");
  for (BatchType batches : {BatchType::streams, BatchType::blocks})
    for (auto rule : {std::pair{OptimizerType::adamw, 0.9},
                      {OptimizerType::adam, 0.9},
                      {OptimizerType::sgd, 0.9},
                      {OptimizerType::sgd, 0.0}}) {
      OptimizerType optimizer = rule.first;
      double momentum = rule.second;
      TrainerConfig config = config_of(batches, optimizer);
      config.momentum = momentum;
      for (int first_part : {1, 5, 9, 12}) {
        CAPTURE(batches);
        CAPTURE(optimizer);
        CAPTURE(momentum);
        CAPTURE(first_part);
        Run whole(config), first(config), second(config, 2);
        whole.steps(first_part);
        first.steps(first_part);
        first.trainer.evaluation();
        whole.trainer.evaluation();
        write_safetensors(path, {first.trainer.saved(), {}});
        load_state_dict(second.model, state_dict(first.model), "first");
        second.trainer.resume(read_safetensors(path).tensors, path);
        CHECK(second.steps(7) == whole.steps(7));
        CHECK(state_dict(second.model) == state_dict(whole.model));
        CHECK(second.trainer.saved() == whole.trainer.saved());
        CHECK(second.trainer.state().best_loss < std::numeric_limits<double>::infinity());
      }
    }
}

TEST_CASE("trainer state: the weights of auxiliary losses go on too") {
  TrainerConfig config = config_of(BatchType::streams);
  for (int first_part : {2, 5, 8}) {
    CAPTURE(first_part);
    Losses with = Losses::auxiliary;
    Run whole(config, 1, with), first(config, 1, with), second(config, 2, with);
    whole.steps(first_part);
    first.steps(first_part);
    load_state_dict(second.model, state_dict(first.model), "first");
    second.trainer.resume(first.trainer.saved(), "file");
    CHECK(second.steps(4) == whole.steps(4));
    CHECK(state_dict(second.model) == state_dict(whole.model));
    CHECK(second.trainer.saved() == whole.trainer.saved());
  }
  Tensors saved = saved_after(2, config, Losses::auxiliary), damaged = saved;
  damaged.erase("auxiliary.blocks.1.outputs.0.bias");
  CHECK(refused(damaged, config, Losses::auxiliary) ==
        "missing tensors \"auxiliary.blocks.1.outputs.0.bias\"");
  damaged = saved;
  damaged["auxiliary.blocks.1.outputs.0.bias"].shape = {7, 1};
  CHECK(refused(damaged, config, Losses::auxiliary) ==
        "auxiliary: tensor \"blocks.1.outputs.0.bias\": [7, 1], expected [7]");
  CHECK(refused(saved).starts_with("unexpected tensors \"auxiliary."));
}

TEST_CASE("trainer state: what was saved does not change with further steps") {
  Run run(config_of(BatchType::streams));
  run.steps(2);
  Tensors saved = run.trainer.saved(), copy = saved;
  Run other(config_of(BatchType::streams));
  other.trainer.resume(saved, "file");
  run.steps(2);
  other.steps(2);
  CHECK(saved == copy);
}

TEST_CASE("trainer state: all that is saved, by name") {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : saved_after(2, config_of(BatchType::streams)))
    if (!name.starts_with("optimizer.")) names.push_back(name);
  CHECK(names == std::vector<std::string>{"best_loss", "dropout", "evaluations_since_best",
                                          "memory.0", "memory.1", "step", "streams", "train_text",
                                          "validation_text"});
  Run run(config_of(BatchType::blocks));
  Tensors saved = run.trainer.saved();
  CHECK(saved.contains("blocks"));
  CHECK(saved.contains("optimizer.updates.embedding.weight"));
  CHECK(saved.contains("optimizer.first.embedding.weight"));
  CHECK(saved.contains("optimizer.second.embedding.weight"));
  CHECK(saved.size() == 7 + 3 * parameters(run.model).size());
}

TEST_CASE("trainer state: every tensor is needed, in its type and shape, and no other") {
  Tensors saved = saved_after(2, config_of(BatchType::streams));
  for (const auto& entry : saved) {
    std::string name = entry.first;
    CAPTURE(name);
    Tensors damaged = saved;
    damaged.erase(name);
    CHECK(refused(damaged) != "");
    damaged = saved;
    damaged[name].dtype = DType::u8;
    damaged[name].bytes = std::vector<std::byte>(static_cast<size_t>(product(entry.second.shape)));
    CHECK(refused(damaged) != "");
    damaged = saved;
    damaged[name].shape.push_back(1);
    CHECK(refused(damaged) != "");
  }
  saved["memory.3"] = saved["memory.1"];
  CHECK(refused(saved) == "unexpected tensors \"memory.3\"");
  saved.erase("memory.3");
  saved.erase("step");
  CHECK(refused(saved) == "missing tensors \"step\"");
}

TEST_CASE("trainer state: an evaluation that is due may be there or not") {
  Tensors saved = saved_after(2, config_of(BatchType::streams));
  StoredTensor due = saved.at("step");
  for (int64_t value : {0, 1}) {
    overwrite(due, value);
    Tensors with = saved;
    with["evaluation_due"] = due;
    Run run(config_of(BatchType::streams));
    run.trainer.resume(with, "file");
    CHECK(run.trainer.state().evaluation_due == (value == 1));
    CHECK(run.trainer.saved() == (value == 1 ? with : saved));
    run.trainer.resume(saved, "file");
    CHECK(!run.trainer.state().evaluation_due);
  }
  due.shape = {1, 1};
  saved["evaluation_due"] = due;
  CHECK(refused(saved) == "tensor \"evaluation_due\": [1, 1], expected [1]");
}

TEST_CASE("trainer state: numbers out of range") {
  Tensors saved = saved_after(2, config_of(BatchType::streams));
  auto refused_with = [&](const std::string& name, auto value) {
    Tensors damaged = saved;
    overwrite(damaged.at(name), value);
    return refused(damaged);
  };
  CHECK(refused_with("step", int64_t{-1}) == "tensor \"step\": -1, expected at least 0");
  CHECK(refused_with("streams", int64_t{70}) == "tensor \"streams\": 70, expected less than 70");
  CHECK(refused_with("best_loss", std::numeric_limits<double>::quiet_NaN()) ==
        "tensor \"best_loss\": nan, expected a loss");
  CHECK(refused_with("optimizer.updates.embedding.weight", int64_t{-2}) ==
        "tensor \"optimizer.updates.embedding.weight\": -2, expected at least 0");
}

TEST_CASE("trainer state: another training than the one that was saved") {
  Tensors saved = saved_after(2, config_of(BatchType::streams));
  TrainerConfig other = config_of(BatchType::streams);
  other.batch_size = 2;
  CHECK(refused(saved, other) == "a memory of [3, 11, 16], expected [2, 11, 16]");
  CHECK(refused(saved, config_of(BatchType::blocks)) ==
        "missing tensors \"blocks\"; unexpected tensors \"streams\"");
  Tensors deeper = saved;
  deeper["memory.2"] = deeper["memory.1"];
  CHECK(refused(deeper) == "a memory of 3 layers, expected 2");
}

TEST_CASE("trainer state: a run that goes on with another memory keeps its newest tokens") {
  Tensors saved = saved_after(2, config_of(BatchType::streams));
  for (int64_t mem_len : {0, 5, 11, 20}) {
    TrainerConfig other = config_of(BatchType::streams);
    other.mem_len = mem_len;
    other.block_size = 9;
    Run run(other);
    run.trainer.resume(saved, "file");
    int64_t M = std::min<int64_t>(mem_len, 11);
    CHECK(run.trainer.memory().size() == (mem_len == 0 ? 0 : 2));
    for (size_t n = 0; n < run.trainer.memory().size(); ++n) {
      Tensor whole = loaded_tensor("memory", saved.at(text("memory.", n)));
      CHECK(run.trainer.memory()[n].values() == slice(whole, 1, 11 - M, 11).values());
    }
    run.steps(1);
    CHECK(run.trainer.memory().size() == (mem_len == 0 ? 0 : 2));
  }
}

TEST_CASE("trainer state: another text than the one that was trained on") {
  LanguageModel model = new_model();
  TrainerConfig config = config_of(BatchType::streams);
  Tensors saved = saved_after(2, config);
  auto refused_texts = [&](const std::vector<int32_t>& train,
                           const std::vector<int32_t>& validation) {
    Trainer trainer(model, train, validation, config);
    return refusal([&] { trainer.resume(saved, "file"); });
  };
  std::vector<int32_t> longer = train_text, other = train_text;
  longer.push_back(0);
  other[100] = (other[100] + 1) % 7;
  CHECK(refused_texts(longer, validation_text) ==
        "file: train_text: 211 tokens, the run's had 210");
  CHECK(refused_texts(other, validation_text) ==
        "file: train_text: others than the run's 210 tokens");
  CHECK(refused_texts(train_text, other) == "file: validation_text: 210 tokens, the run's had 50");
}

TEST_CASE("trainer state: saved_view has the moments that train, and resume reads into them") {
  Run run(config_of(BatchType::blocks), 1);
  run.trainer.step();
  Tensors before = run.trainer.saved(), view = run.trainer.saved_view();
  CHECK(view == before);
  const Optimizer& optimizer = run.trainer.state().optimizer;
  const Scalar* place = optimizer.moments()[0].first.data();
  CHECK(static_cast<const void*>(
            view.at("optimizer.first." + optimizer.parameters()[0].name).bytes.data()) == place);
  run.trainer.step();
  CHECK(run.trainer.saved() != before);
  run.trainer.resume(before, "file");
  CHECK(run.trainer.saved() == before);
  CHECK(run.trainer.state().optimizer.moments()[0].first.data() == place);
}
