// LocalRNN or a convolution over the same window, on a text: trains a model of four layers without
// attention, and prints its bits per character on the last tenth of the text.
//
//     convolution --data FILE [--layer rnn|gru|lstm|convolution] [--window N] [--max_iters N]
//                 [--seed N] [--threads N]

#include <shiftgrad/shiftgrad.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "../common/text.h"
#include "causal_convolution.h"

using namespace shiftgrad;

namespace {

struct Flags {
  std::string data, layer = "convolution";
  int64_t window = 7, max_iters = 600;
  uint64_t seed = 1;
  int threads = 0;
};

LanguageModel build(const Flags& flags, Random& random) {
  LanguageModelConfig config{.vocab_size = 256,
                             .d_model = 64,
                             .n_layer = 4,
                             .n_head = 4,
                             .d_inner = 256,
                             .activation = Activation::gelu,
                             .tie_embedding = true};
  if (flags.layer == "convolution")
    return LanguageModel(config, random, [&](Random& start) {
      return std::make_unique<CausalConvolution>(config.d_model, flags.window, start);
    });
  config.mixer =
      LocalRnnConfig{.window = flags.window, .cell = value_named<RecurrentCell>(flags.layer)};
  return LanguageModel(config, random);
}

void run(const Flags& flags) {
  std::optional<ThreadLimit> limit;
  if (flags.threads > 0) limit.emplace(flags.threads);
  std::string bytes = common::read_text(flags.data);
  std::vector<int32_t> text;
  for (unsigned char byte : bytes) text.push_back(byte);
  std::span train = std::span(text).first(text.size() * 9 / 10);
  std::span validation = std::span(text).subspan(train.size());
  Random random{.seed = flags.seed};
  LanguageModel model = build(flags, random);
  Trainer trainer(model, train, validation,
                  {.batches = BatchType::blocks,
                   .max_iters = flags.max_iters,
                   .learning_rate = 4e-3,
                   .eval_interval = flags.max_iters,
                   .eval_iters = 1,
                   .seed = flags.seed});
  trainer.run();
  Evaluation score =
      evaluate(model, validation, {.mode = EvaluationMode::chunks, .batch_size = 64});
  std::cout << score.bits() << " bits per character\n";
}

}  // namespace

int main(int count, char** arguments) try {
  initialize();
  Flags flags;
  CLI::App program("Train a LocalRNN or a convolution on a text, and score it.", "convolution");
  program.add_option("--data", flags.data, "text file")->required();
  program.add_option("--layer", flags.layer, "rnn, gru, lstm or convolution")
      ->check(CLI::IsMember({"rnn", "gru", "lstm", "convolution"}))
      ->capture_default_str();
  program.add_option("--window", flags.window, "characters that a layer sees")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  program.add_option("--max_iters", flags.max_iters, "steps to train for")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  program.add_option("--seed", flags.seed, "seed of the weights and the batches")
      ->capture_default_str();
  program.add_option("--threads", flags.threads, "threads to use, 0 for one per core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  try {
    program.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
  run(flags);
} catch (const std::exception& error) {
  std::cerr << "convolution: " << error.what() << '\n';
  return 1;
}
