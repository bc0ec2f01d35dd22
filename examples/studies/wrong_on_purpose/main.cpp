// What the mistakes of public code do to a training: wrong_on_purpose [FILE [STEPS [SEEDS]]] trains
// a small model on a text file, or on this project's own source, with each form of attention as it
// should be and with each mistake. It prints a table: the loss of text that the model has not seen,
// once in one pass, as training sees it, and once read in order, as a model has to write.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "examples/apps/runs/text.h"
#include "mistakes.h"
#include "optim/shiftgrad.h"
#include "score.h"
#include "training.h"

using namespace shiftgrad;
using namespace wrong_on_purpose;

namespace {

constexpr int64_t batch_size = 16, block = 64, prompt = 32, most_blocks = 256;
constexpr int32_t blank = 256;  // beside the bytes

LanguageModel new_model(const Exhibit& exhibit, uint64_t seed) {
  Random random{.seed = seed};
  LanguageModelConfig config{
      .vocab_size = 257, .d_model = 64, .n_layer = 2, .n_head = 4, .d_inner = 256};
  return make_model(exhibit, config, block, random);
}

void train(const LanguageModel& model, const Exhibit& exhibit, std::span<const int32_t> text,
           int64_t steps, uint64_t seed) {
  TrainingConfig config{.batch_size = batch_size,
                        .block_size = block,
                        .schedule = {.learning_rate = 3e-3,
                                     .min_lr = 3e-4,
                                     .warmup_iters = 50,
                                     .lr_decay_iters = steps},
                        .seed = seed};
  Training training(model, exhibit.form, text, config, blank);
  for (int64_t step = 0; step < steps; ++step) training.step();
}

/// Scores what the model predicts of a text that it has not seen. The two-way form cannot be fed in
/// order.
Losses score_unseen(const LanguageModel& model, const Exhibit& exhibit,
                    std::span<const int32_t> text) {
  // A short text has fewer blocks.
  int64_t blocks = std::clamp<int64_t>(std::ssize(text) / block, 1, most_blocks);
  Batch batch = RandomBlocks(text, blocks, block, {.seed = 0, .stream = 1}).next();
  if (exhibit.form == Form::two_way) return {score_blanks(model, batch, blank), NAN};
  return score(model, batch, prompt);
}

/// Mean and standard deviation over the seeds, or a dash for what has none.
std::string mean_of(const std::vector<double>& values) {
  double n = static_cast<double>(values.size()), mean = 0, square = 0;
  for (double value : values) mean += value / n;
  for (double value : values) square += (value - mean) * (value - mean);
  if (std::isnan(mean)) return "–";
  std::ostringstream text;
  text << std::fixed << std::setprecision(3) << mean;
  if (n > 1) text << " ± " << std::sqrt(square / (n - 1));
  return text.str();
}

/// What the model writes after the prompt, in one line.
std::string written(const LanguageModel& model, std::span<const int32_t> text) {
  std::string line;
  generate(model, {text.begin(), text.begin() + prompt},
           {.length = block - prompt, .sampling = {.temperature = 0.5}}, [&](int32_t token) {
             line += token < ' ' || token > '~' || token == '|' ? ' ' : static_cast<char>(token);
           });
  return line;
}

int64_t number(const char* name, const char* argument) {
  int64_t value = std::atoll(argument);
  require(value > 0, name, ' ', argument, ", expected a number above 0");
  return value;
}

}  // namespace

int main(int count, char** arguments) try {
  initialize();
  std::string bytes = apps::read_text(count > 1 ? arguments[1] : "");
  int64_t steps = number("STEPS", count > 2 ? arguments[2] : "600");
  int64_t seeds = number("SEEDS", count > 3 ? arguments[3] : "3");
  std::vector<int32_t> text;
  for (unsigned char byte : bytes) text.push_back(byte);
  std::span train_text = std::span(text).first(text.size() * 9 / 10);
  std::span validation = std::span(text).subspan(train_text.size());

  std::cout << "| form | mistake | in one pass | in order | writes |\n|---|---|---|---|---|\n";
  for (const Exhibit& exhibit : exhibits) {
    std::vector<double> in_one_pass, in_order;
    std::string writes;
    for (int64_t seed = 1; seed <= seeds; ++seed) {
      LanguageModel model = new_model(exhibit, seed);
      train(model, exhibit, train_text, steps, seed);
      Losses losses = score_unseen(model, exhibit, validation);
      in_one_pass.push_back(losses.in_one_pass);
      in_order.push_back(losses.in_order);
      if (seed == 1 && exhibit.form != Form::two_way) writes = written(model, validation);
    }
    std::cout << "| " << exhibit.form << " | " << exhibit.name << " | " << mean_of(in_one_pass)
              << " | " << mean_of(in_order) << " | " << writes << " |" << std::endl;
  }
} catch (const std::exception& error) {
  std::cerr << "wrong_on_purpose: " << error.what() << '\n';
  return 1;
}
