// Parameters that are frozen, or learn at a rate of their own.

#include <cmath>

#include "nn/state_dict.h"
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
  CHECK(!parameters(*model.stack.blocks[0])[0].value.gradient().defined());
  config.freeze = "";
  Trainer(model, text, {}, config).step();
  CHECK(parameters(*model.stack.blocks[0])[0].value.gradient().defined());
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
