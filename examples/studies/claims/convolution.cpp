// LocalRNN or a convolution over the same window, on a text: trains a model of four layers without
// attention, and prints its bits per character on the last tenth of the text.
//
//     convolution --data FILE [--layer rnn|gru|lstm|convolution] [--window N] [--max_iters N]
//                 [--seed N] [--threads N]

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "causal_convolution.h"
#include "optim/shiftgrad.h"
#include "small_training.h"

using namespace shiftgrad;

namespace {

struct Flags : claims::SmallTraining {
  std::string layer = "convolution";
  int64_t window = 7;
};

LanguageModel build(const Flags& flags, Random& random) {
  LanguageModelConfig config = claims::small_model();
  if (flags.layer == "convolution")
    return LanguageModel(config, random, [&](Random& start) {
      return std::make_unique<CausalConvolution>(config.d_model, flags.window, start);
    });
  config.mixer =
      LocalRnnConfig{.window = flags.window, .cell = value_named<RecurrentCell>(flags.layer)};
  return LanguageModel(config, random);
}

double bits(const Flags& flags, const std::vector<int32_t>& text) {
  std::span train = std::span(text).first(text.size() * 9 / 10);
  std::span validation = std::span(text).subspan(train.size());
  Random random{.seed = flags.seed};
  LanguageModel model = build(flags, random);
  TrainerConfig config = flags.config();
  config.batches = BatchType::blocks;
  Trainer(model, train, validation, config).run();
  return evaluate(model, validation, {.mode = EvaluationMode::chunks, .batch_size = 64}).bits();
}

}  // namespace

int main(int count, char** arguments) {
  Flags flags;
  auto add_flags = [&](CLI::App& program) {
    apps::add_flag(program, "layer", flags.layer, "rnn|gru|lstm|convolution", "layer to train");
    apps::add_flag(program, "window", flags.window, "CHARACTERS", "characters that a layer sees",
                   apps::Range{1, 1024});
  };
  return claims::run(
      "convolution", "Train a LocalRNN or a convolution on a text, and score it.", flags, add_flags,
      [&](const std::vector<int32_t>& text) { return bits(flags, text); }, count, arguments);
}
