// Parameters that are frozen, or learn at a rate of their own.

#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include "nn/state_dict.h"
#include "tests/support/refusal.h"
#include "tests/support/small_trainings.h"

using namespace shiftgrad;

TEST_CASE("trainer: frozen parameters stay, and the others learn as they would beside constants") {
  std::vector<int32_t> text = random_text(500, 7);
  TrainerConfig config = streams(8);
  config.freeze = "embedding.*,blocks.0.*";
  LanguageModel model = loud_model(small_transformer_xl());
  auto before = state_dict(model);
  Trainer trainer(model, text, {}, config);
  for (int n = 0; n < 3; ++n) trainer.step();
  for (const auto& [name, tensor] : state_dict(model)) {
    bool frozen = name.starts_with("embedding.") || name.starts_with("blocks.0.");
    CHECK((tensor == before.at(name)) == frozen);
  }
  double norm = trainer.step().gradient_norm;
  double total = 0;
  for (const Parameter& parameter : trainer.state().optimizer.parameters())
    for (Scalar value : parameter.value.gradient().values()) total += value * value;
  CHECK(std::sqrt(total) == doctest::Approx(std::min(norm, config.grad_clip)).epsilon(1e-3));
}

TEST_CASE("trainer: frozen parameters get no gradient, and the others' have the bits they had") {
  std::vector<int32_t> text = random_text(500, 7);
  TrainerConfig config = streams(8);
  config.grad_clip = 0;
  auto gradients = [&](const std::string& frozen) {
    config.freeze = frozen;
    LanguageModel model = loud_model(small_transformer_xl());
    Trainer trainer(model, text, {}, config);
    trainer.step();
    std::map<std::string, std::vector<Scalar>> result;
    for (const Parameter& parameter : parameters(model))
      if (Tensor gradient = parameter.value.gradient(); gradient.defined())
        result[parameter.name] = gradient.values();
    return result;
  };
  auto all = gradients("");
  for (const char* frozen : {"embedding.*,blocks.0.*", "blocks.1.*", "*.bias", "*position*"}) {
    CAPTURE(frozen);
    auto some = gradients(frozen);
    CHECK(some.size() < all.size());
    for (const auto& entry : some) {
      CAPTURE(entry.first);
      CHECK(entry.second == all.at(entry.first));
    }
  }
  // What was frozen in one training learns in the next.
  LanguageModel model = loud_model(small_transformer_xl());
  config.freeze = "blocks.*";
  Trainer(model, text, {}, config).step();
  CHECK(!parameters(*model.blocks.layers[0])[0].value.gradient().defined());
  config.freeze = "";
  Trainer(model, text, {}, config).step();
  CHECK(parameters(*model.blocks.layers[0])[0].value.gradient().defined());
}

TEST_CASE("trainer: parameters so named learn at a rate of their own") {
  std::vector<int32_t> text = random_text(500, 7);
  auto weights = [&](const std::string& lr_scale, double rate) {
    TrainerConfig config = streams(8);
    config.learning_rate = rate;
    config.lr_scale = lr_scale;
    LanguageModel model = loud_model(small_transformer_xl());
    Trainer(model, text, {}, config).step();
    return state_dict(model);
  };
  auto plain = weights("", 0.01), fast = weights("", 0.02);
  for (const auto& entry : weights("*=9,*=1,blocks.0.*=2", 0.01)) {
    const std::string& name = entry.first;
    CAPTURE(name);
    CHECK(entry.second == (name.starts_with("blocks.0.") ? fast : plain).at(name));
  }
}

namespace {

/// The names of the parameters whose values differ from those of before.
std::set<std::string> moved(const std::map<std::string, StoredTensor>& before,
                            const Module& model) {
  std::set<std::string> names;
  for (const auto& [name, value] : state_dict(model))
    if (value != before.at(name)) names.insert(name);
  return names;
}

/// The names of the parameters that require a gradient.
std::set<std::string> requiring(const Module& model) {
  std::set<std::string> names;
  for (const Parameter& parameter : parameters(model))
    if (parameter.value.requires_gradient()) names.insert(parameter.name);
  return names;
}

}  // namespace

TEST_CASE("trainer: trainers of one model each train what they were told to, in any order") {
  std::vector<int32_t> text = random_text(500, 7);
  LanguageModel model = loud_model(small_transformer_xl());
  std::set<std::string> all = requiring(model);
  TrainerConfig lower = streams(8), upper = streams(8);
  lower.freeze = "embedding.*,blocks.0.*";
  upper.freeze = "blocks.1.*,output.*,final_norm.*";
  auto whole = std::make_unique<Trainer>(model, text, ViewOrOwned<int32_t>(), streams(8));
  auto without_lower = std::make_unique<Trainer>(model, text, ViewOrOwned<int32_t>(), lower);
  auto without_upper = std::make_unique<Trainer>(model, text, ViewOrOwned<int32_t>(), upper);
  TrainerConfig nothing = lower;
  nothing.freeze = "*";
  CHECK_THROWS_AS(Trainer(model, text, {}, nothing), Error);
  CHECK(requiring(model) == all);
  auto step = [&](Trainer& trainer) {
    auto before = state_dict(model);
    trainer.step();
    std::set<std::string> expected;
    for (const Parameter& one : trainer.state().optimizer.parameters()) expected.insert(one.name);
    CHECK(moved(before, model) == expected);
    CHECK(requiring(model) == all);
  };
  for (int n = 0; n < 2; ++n) {
    step(*whole);
    step(*without_lower);
    step(*without_upper);
  }
  without_lower.reset();
  step(*whole);
  step(*without_upper);
  whole.reset();
  step(*without_upper);
  without_upper.reset();
  CHECK(requiring(model) == all);
}

TEST_CASE("trainer: a step, and one that fails, give back who requires a gradient") {
  std::vector<int32_t> text = random_text(500, 7);
  LanguageModel model = loud_model(small_transformer_xl());
  model.output.bias.require_gradient(false);
  std::set<std::string> before = requiring(model);
  TrainerConfig config = streams(8);
  config.freeze = "blocks.0.*";
  Trainer trainer(model, text, {}, config);
  auto weights = state_dict(model);
  trainer.step();
  CHECK(requiring(model) == before);
  CHECK(moved(weights, model).contains("output.bias"));
  model.blocks.norm.bias.mutable_data()[0] = std::numeric_limits<Scalar>::quiet_NaN();
  CHECK_THROWS_AS(trainer.step(), Error);
  CHECK(requiring(model) == before);
}

TEST_CASE("trainer: two threads train models that share what both have frozen") {
  std::vector<int32_t> text = random_text(500, 7);
  TrainerConfig config = streams(8);
  config.freeze = "embedding.*";
  auto train = [&](LanguageModel& model) {
    Trainer trainer(model, text, {}, config);
    for (int n = 0; n < 20; ++n) trainer.step();
  };
  LanguageModel alone = loud_model(small_transformer_xl());
  train(alone);
  LanguageModel one = loud_model(small_transformer_xl()),
                other = loud_model(small_transformer_xl());
  other.embedding.weight = one.embedding.weight;
  std::thread thread([&] { train(one); });
  train(other);
  thread.join();
  CHECK(state_dict(one) == state_dict(alone));
  CHECK(state_dict(other) == state_dict(alone));
  CHECK(one.embedding.weight.requires_gradient());
}

TEST_CASE("trainer: says what is tied to what it freezes or scales") {
  std::vector<int32_t> text = random_text(500, 7);
  LanguageModelConfig tied = small_transformer_xl();
  tied.tie_embedding = tied.tie_position_biases = true;
  LanguageModel model = loud_model(tied);
  TrainerConfig config = streams(8);
  CHECK(Trainer(model, text, {}, config).notes().empty());
  config.freeze = "embedding.*";
  config.lr_scale = "blocks.*=2";
  CHECK(Trainer(model, text, {}, config).notes() ==
        std::vector<std::string>{
            "freeze: output.weight is frozen with embedding.weight, tied to it",
            "lr_scale: blocks.0.mixer.content_bias and 1 more have the factor 1 of content_bias, "
            "tied to it",
            "lr_scale: blocks.0.mixer.position_bias and 1 more have the factor 1 of position_bias, "
            "tied to it"});
  config.freeze = "output.weight";
  CHECK(refusal([&] { Trainer(model, text, {}, config); }) ==
        "freeze \"output.weight\": output.weight is tied to embedding.weight, expected that name");
}
