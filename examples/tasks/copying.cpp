// Copying from far back: ten letters, T blanks, and then the ten letters again, by a causal model
// with positions of one of five kinds. `copying POSITIONS LOSS [T [STEPS [SEED]]]`
//
//     POSITIONS  none, relative (Transformer-XL), rope, or sinusoid or learned before the blocks
//     LOSS       over all places, or those that are copied: all, copied

#include <array>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "program.h"

using namespace shiftgrad;

enum class Positions { none, relative, rope, sinusoid, learned };
constexpr auto names(Positions) {
  return std::array{"none", "relative", "rope", "sinusoid", "learned"};
}
enum class Places { all, copied };
constexpr auto names(Places) { return std::array{"all", "copied"}; }

constexpr int64_t letters = 10;
constexpr int32_t blank = 0, copy_now = 9;  // and 1 to 8 are letters

struct Problem {
  Tokens given;   // [B, T + 20]: letters, blanks, and copy_now from the place before the copy on
  Tokens wanted;  // [B, T + 20]: blanks, and the letters at the end

  Problem(int64_t B, int64_t T, Random& random) : given{{B, T + 2 * letters}, {}}, wanted(given) {
    for (int64_t b = 0; b < B; ++b) {
      std::vector<int32_t> text;
      for (int64_t n = 0; n < letters; ++n)
        text.push_back(static_cast<int32_t>(1 + random.below(8)));
      auto append = [](Tokens& row, int64_t times, int32_t token) {
        row.values.insert(row.values.end(), static_cast<size_t>(times), token);
      };
      given.values.insert(given.values.end(), text.begin(), text.end());
      append(given, T - 1, blank);
      append(given, letters + 1, copy_now);
      append(wanted, T + letters, blank);
      wanted.values.insert(wanted.values.end(), text.begin(), text.end());
    }
  }
};

LanguageModelConfig model_of(Positions positions, int64_t T) {
  LanguageModelConfig config{.vocab_size = 10, .d_model = 64, .n_layer = 2, .n_head = 4};
  config.d_inner = 128;
  config.mixer = MultiHeadAttentionConfig{};
  if (positions == Positions::relative) config.mixer = TransformerXLAttentionConfig{};
  if (positions == Positions::rope)
    config.mixer = MultiHeadAttentionConfig{.position = AttentionPosition::rope};
  if (positions == Positions::sinusoid) config.position = TokenPosition::sinusoid;
  if (positions == Positions::learned) {
    config.position = TokenPosition::learned;
    config.max_len = T + 2 * letters;
  }
  return config;
}

void copying(const Arguments& arguments) {
  auto positions = arguments.choice<Positions>(0, "POSITIONS");
  auto places = arguments.choice<Places>(1, "LOSS");
  int64_t T = arguments.number(2, "T", 200);
  require(T >= 1, "T 0, expected at least 1");
  auto seed = static_cast<uint64_t>(arguments.number(4, "SEED", 1));
  Random random{.seed = seed}, other{.seed = seed, .stream = 1000};
  LanguageModel model(model_of(positions, T), random);
  auto loss_of = [&](const Problem& problem, Places counted, Context& context) {
    Tensor logits = model(problem.given, {}, context).logits;  // [B, T + 20, V]
    return cross_entropy(logits, problem.wanted, {.ignored = counted == Places::all ? -1 : blank});
  };
  const Problem held_out(64, T, other);
  auto score = [&](Places counted) {
    Context context;
    return Evaluation{loss_of(held_out, counted, context).item(), 64};
  };
  auto loss = [&](Context& context) {
    return loss_of(Problem(16, T, context.random), places, context);
  };
  TaskTraining training(model, AdamW{},
                        {.schedule = {.learning_rate = 1e-3, .warmup_iters = 100},
                         .max_iters = arguments.number(3, "STEPS", 1000),
                         .eval_interval = 100,
                         .grad_clip = 1,
                         .seed = seed},
                        {.loss = loss, .scores = [&] {
                           return std::pair(score(Places::all), score(Places::copied));
                         }});
  training.run({.on_evaluation = [&](const EvaluationReport& report) {
    std::cout << "step " << report.step << ": loss over all places " << report.train.nats
              << ", over copied letters " << report.validation.nats << std::endl;
  }});
}

int main(int count, char** words) { return run_program("copying", count, words, copying); }
