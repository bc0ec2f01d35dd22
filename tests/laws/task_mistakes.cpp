// What those who write a training of their own get wrong, and the one line that each of them reads.

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nn/models/blocks.h"
#include "nn/models/module_file.h"
#include "nn/padded.h"
#include "ops/arithmetic.h"
#include "ops/elementwise_loss.h"
#include "optim/epochs.h"
#include "optim/training_loop.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace shiftgrad;

namespace {

BlocksConfig forecaster_blocks() {
  return {.d_model = 8,
          .n_layer = 1,
          .n_head = 2,
          .d_inner = 16,
          .mixer = TransformerXLAttentionConfig{}};
}

/// A number for each step of a series of three.
struct Forecaster : Module {
  Linear input, output;
  Blocks body;
  Tensor forgotten = Tensor::full({1}, 1).require_gradient();

  explicit Forecaster(Init init)
      : input(3, 8, true, init), output(8, 1, true, init), body(forecaster_blocks(), init) {}
  Tensor operator()(const Tensor& x, Context& context) const {
    return output(body(input(x), context));  // [B, T, 1]
  }
  void visit(Visitor& visitor) const override {
    visitor("input", input);
    visitor("body", body);
    visitor("output", output);
  }
};

Forecaster forecaster() {
  Random random{.seed = 1};
  return Forecaster(random);
}

/// A training whose parts are given.
struct ForecastTask : TrainingLoop {
  std::function<void(ForecastTask&, Context&)> step_of;
  Evaluation found{1, 1, 1};

  ForecastTask(const Forecaster& model, std::function<void(ForecastTask&, Context&)> learns,
               const LoopConfig& config = {})
      : TrainingLoop(config, parameters(model), Optimizer(parameters(model), AdamW{}), {}, alone()),
        step_of(std::move(learns)) {}

  int64_t learn(Context& context) override {
    step_of(*this, context);
    return 1;
  }
  std::pair<Evaluation, Evaluation> scores(const EvaluationProgress&) const override {
    return {found, found};
  }
  using TrainingLoop::backward;
};

const Tensor x = Tensor::full({2, 5, 3}, 0.5), target = Tensor::full({2, 5, 1}, 1);

std::shared_ptr<const Mask> mask(const Dims& shape) {
  return std::make_shared<const Mask>(
      Mask{shape, std::vector<uint8_t>(static_cast<size_t>(shape[0] * shape[1]))});
}

}  // namespace

TEST_CASE("task mistakes: in a model of blocks") {
  Random random;
  auto refused = [&](auto change) {
    BlocksConfig config = forecaster_blocks();
    change(config);
    return refusal([&] { Blocks(config, random); });
  };
  CHECK(refused([](auto& c) { c.n_head = 3; }) ==
        "transformer_xl_attention: d_model 8 is not divisible by n_head 3");
  CHECK(refused([](auto& c) { c.n_layer = 0; }) == "blocks: n_layer 0, expected at least 1");
  CHECK(refused([](auto& c) { c.d_inner = 0; }) == "blocks: d_inner 0, expected at least 1");

  Forecaster model = forecaster();
  Context context;
  CHECK(refusal([&] { model.body(x, context); }) == "blocks: x [2, 5, 3], expected [B, T, 8]");
  CHECK(refusal([&] {
          model.body(Tensor::zeros({5, 8}), context);
        }) == "blocks: x [5, 8], expected [B, T, 8]");
  CHECK(refusal([&] { model.body({}, context); }) == "blocks: x is undefined, expected [B, T, 8]");
  Tensor h = Tensor::zeros({2, 5, 8});
  CHECK(refusal([&] {
          model.body(h, {Tensor::zeros({3, 4, 8})}, context);
        }) == "transformer_block: memory [3, 4, 8] for x [2, 5, 8], expected [2, M, 8]");
  CHECK(refusal([&] { model.body(h, {h, h}, context); }) == "blocks: memory for 2 blocks of 1");
  context.key_padding_mask = mask({2, 4});
  CHECK(refusal([&] { model(x, context); }) ==
        "relative_attention: key_padding_mask [2, 4], expected [2, 5]");
}

TEST_CASE("task mistakes: in data and losses") {
  CHECK(refusal([&] {
          pad({Tensor::zeros({2, 3}), Tensor::zeros({4, 2})});
        }) == "pad: sequence 1 of shape [4, 2], expected [T, …] as sequence 0, [2, 3]");
  CHECK(refusal([&] {
          pad({Tensor::zeros({2, 3}), Tensor::zeros({0, 3})});
        }) == "pad: sequence 1 is empty, expected at least 1 element");
  CHECK(refusal([&] { Epochs(0, 4, 1); }) == "epochs: 0 items, expected at least 1");
  CHECK(refusal([&] { mse_loss(x, target); }) ==
        "mse_loss: [2, 5, 3] for targets of [2, 5, 1], expected equal shapes");
  CHECK(refusal([&] {
          mse_loss(x, x, {.weights = Tensor::zeros({2, 5, 1})});
        }) == "mse_loss: a mean over weights whose sum is 0, expected more than 0");
  CHECK(refusal([&] { binary_cross_entropy(x, x * 3); }) ==
        "binary_cross_entropy: 0.5 for a target of 1.5, expected both in 0 to 1");
}

TEST_CASE("task mistakes: in a step, which then changes no weight") {
  Forecaster model = forecaster();
  auto refused = [&](std::function<void(ForecastTask&, Context&)> learns,
                     const LoopConfig& config = {}) {
    ForecastTask task(model, std::move(learns), config);
    std::vector<Scalar> before = model.input.weight.values();
    std::string reason = refusal([&] { task.step(); });
    CHECK(model.input.weight.values() == before);
    CHECK(task.state().step == 0);
    return reason;
  };
  std::string none =
      "trainer: step 1: learn has made no call of TrainingLoop::backward, expected one for each "
      "batch";
  CHECK(refused([](ForecastTask&, Context&) {}) == none);
  CHECK(refused([&](ForecastTask&, Context& context) {
          Tape tape;
          tape.backward(mse_loss(model(x, context), target));
        }) == none);
  CHECK(refused([&](ForecastTask& task, Context& context) {
          Tensor loss = mse_loss(model(x, context), target);
          Tape tape;
          task.backward(tape, loss, loss, 1);
        }) ==
        "backward: this tape did not record the output; make the Tape before the forward pass");
  CHECK(refused([&](ForecastTask& task, Context& context) {
          Tape tape;
          Tensor y = model(x, context);
          task.backward(tape, y, y, 1);
        }) == "trainer: step 1: a loss of shape [2, 5, 1], expected []");
  CHECK(refused([&](ForecastTask& task, Context& context) {
          Tape tape;
          Tensor loss = mse_loss(model(x, context) * model.forgotten, target);
          task.backward(tape, loss, loss, 1);
        }) ==
        "parameters: the forward pass reads a tensor of shape [1] that requires a gradient and "
        "that no visit() lists: nothing would train or save it; list it, or call "
        "require_gradient(false)");
  auto learns = [&](ForecastTask& task, Context& context) {
    Tape tape;
    Tensor loss = mse_loss(model(x * std::nan(""), context), target);
    task.backward(tape, loss, loss, 1);
  };
  CHECK(refused(learns) ==
        "trainer: step 1: loss nan, gradient norm nan: not finite; the weights are those before "
        "this step");
  CHECK(refused(learns, {.rate = [](const RateInput&) { return -0.1; }}) ==
        "trainer: step 1: rate of -0.1, expected at least 0");
  CHECK(refused(learns, {.rate = [](const RateInput&) -> double { throw std::exception(); }})
            .starts_with("trainer: step 1: rate: "));
}

TEST_CASE("task mistakes: in scores, configs and files") {
  Forecaster model = forecaster();
  ForecastTask task(model, {});
  task.found.nats = std::nan("");
  CHECK(refusal([&] { task.evaluation(); }) ==
        "trainer: evaluation after step 0: a loss of nan, expected a finite one");
  CHECK(task.state().evaluations_since_best == 0);
  CHECK(refusal([&] { ForecastTask(model, {}, {.eval_interval = 0}); }) ==
        "trainer: eval_interval 0, expected at least 1");
  CHECK(refusal([&] { Optimizer({}, SGD{}); }) == "optimizer: no parameters, expected at least 1");

  TemporaryFolder folder;
  std::string path = folder.file("model.safetensors");
  CHECK(refusal([&] { load(model, path); }) == path + ": no such file");
  save(model, path, R"({"d_model": 8})");
  CHECK(refusal([&] { load(model, path, R"({"d_model": 9})"); }) ==
        path + ": a model of the config d_model 8, expected 9");
  CHECK(refusal([&] {
          load(model.input, path, R"({"d_model": 8})");
        }).starts_with(path + ": missing tensors \"weight\", \"bias\"; unexpected tensors "));
}
