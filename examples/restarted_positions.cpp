// What absolute positions do behind a memory (Dai et al. 2019, section 3.3). They start anew in
// each segment, so a token of the memory and one of the segment have the same. Trains a small model
// on a text, in order, and prints the bits per character of the last hundred batches, each of which
// is new to the model.
//
//     restarted_positions --data FILE [--positions relative|absolute] [--mem_len N]
//                         [--max_iters N] [--seed N] [--threads N]

#include <shiftgrad/shiftgrad.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <optional>

#include "common/text.h"

using namespace shiftgrad;

namespace {

struct Flags {
  std::string data, positions = "absolute";
  int64_t mem_len = 64, max_iters = 600;
  uint64_t seed = 1;
  int threads = 0;
};

LanguageModelConfig config_of(const Flags& flags) {
  LanguageModelConfig config{.vocab_size = 256,
                             .d_model = 64,
                             .n_layer = 4,
                             .n_head = 4,
                             .d_inner = 256,
                             .activation = Activation::gelu,
                             .tie_embedding = true};
  if (flags.positions == "relative") {
    config.mixer = TransformerXLAttentionConfig{};
  } else {
    config.mixer = MultiHeadAttentionConfig{};
    config.position = TokenPosition::sinusoid;  // token i of a segment is at mem_len + i
    config.embedding_scale = true;
  }
  return config;
}

void run(const Flags& flags) {
  std::optional<ThreadLimit> limit;
  if (flags.threads > 0) limit.emplace(flags.threads);
  std::string bytes = common::read_text(flags.data);
  std::vector<int32_t> text;
  for (unsigned char byte : bytes) text.push_back(byte);
  Random random{.seed = flags.seed};
  LanguageModel model(config_of(flags), random);
  Trainer trainer(model, text, {},
                  {.mem_len = flags.mem_len,
                   .max_iters = flags.max_iters,
                   .learning_rate = 4e-3,
                   .eval_interval = flags.max_iters,
                   .eval_iters = 1,
                   .seed = flags.seed});
  double nats = 0;
  int64_t last = std::min<int64_t>(flags.max_iters, 100);
  trainer.run({.on_step = [&](const StepReport& report) {
    if (report.step > flags.max_iters - last) nats += report.loss / static_cast<double>(last);
  }});
  std::cout << nats / std::log(2.0) << " bits per character\n";
}

}  // namespace

int main(int count, char** arguments) try {
  initialize();
  Flags flags;
  CLI::App program("Train a model with absolute or relative positions behind a memory.",
                   "restarted_positions");
  program.add_option("--data", flags.data, "text file")->required();
  program.add_option("--positions", flags.positions, "relative or absolute sinusoids")
      ->check(CLI::IsMember({"relative", "absolute"}))
      ->capture_default_str();
  program.add_option("--mem_len", flags.mem_len, "tokens of memory")
      ->check(CLI::NonNegativeNumber)
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
  std::cerr << "restarted_positions: " << error.what() << '\n';
  return 1;
}
