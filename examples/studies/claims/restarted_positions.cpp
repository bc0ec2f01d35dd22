// What absolute positions do behind a memory (Dai et al. 2019, section 3.3). They start anew in
// each segment, so a token of the memory and one of the segment have the same. Trains a small model
// on a text, in order, and prints the bits per character of the last hundred batches, each of which
// is new to the model.
//
//     restarted_positions --data FILE [--positions relative|absolute] [--mem_len N]
//                         [--max_iters N] [--seed N] [--threads N]

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "optim/shiftgrad.h"
#include "small_training.h"

using namespace shiftgrad;

namespace {

struct Flags : claims::SmallTraining {
  std::string positions = "absolute";
  int64_t mem_len = 64;
};

LanguageModelConfig model_config(const Flags& flags) {
  LanguageModelConfig config = claims::small_model();
  if (flags.positions == "relative") {
    config.mixer = TransformerXLAttentionConfig{};
  } else {
    config.mixer = MultiHeadAttentionConfig{};
    config.position = TokenPosition::sinusoid;  // token i of a segment is at mem_len + i
    config.embedding_scale = true;
  }
  return config;
}

double bits(const Flags& flags, const std::vector<int32_t>& text) {
  Random random{.seed = flags.seed};
  LanguageModel model(model_config(flags), random);
  TrainerConfig config = flags.config();
  config.mem_len = flags.mem_len;
  Trainer trainer(model, text, {}, config);
  double nats = 0;
  int64_t last = std::min<int64_t>(flags.max_iters, 100);
  trainer.run({.on_step = [&](const StepReport& report) {
    if (report.step > flags.max_iters - last) nats += report.loss / static_cast<double>(last);
  }});
  return nats / std::log(2.0);
}

}  // namespace

int main(int count, char** arguments) {
  Flags flags;
  auto add_flags = [&](CLI::App& program) {
    apps::add_flag(program, "positions", flags.positions, "relative|absolute",
                   "relative or absolute sinusoids");
    apps::add_flag(program, "mem_len", flags.mem_len, "TOKENS", "tokens of memory",
                   apps::range::zero_or_more);
  };
  return claims::run(
      "restarted_positions", "Train a model with absolute or relative positions behind a memory.",
      flags, add_flags, [&](const std::vector<int32_t>& text) { return bits(flags, text); }, count,
      arguments);
}
