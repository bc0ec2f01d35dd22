// Scoring a text, L4 H4 d128: Transformer-XL in segments behind a memory, against a plain
// transformer that sees as many tokens and computes them anew for each one (Dai et al. 2019,
// section 4.6).

#include "nn/models/language_model.h"
#include "optim/evaluate.h"
#include "tests/bench/measure.h"
#include "tests/bench/models.h"

namespace shiftgrad::bench {

namespace {

std::vector<int32_t> random_text(int64_t length) {
  Random random{.seed = 2};
  std::vector<int32_t> text;
  for (int64_t n = 0; n < length; ++n) text.push_back(static_cast<int32_t>(random.below(96)));
  return text;
}

Result run(const LanguageModelConfig& config, const EvaluationConfig& evaluation, int64_t tokens) {
  Random random{.seed = 1};
  LanguageModel model(config, random);
  std::vector<int32_t> text = random_text(tokens + 1);
  Evaluation score = evaluate(model, text, evaluation);
  Result result;
  result.milliseconds = {1000 * score.seconds};
  result.tokens = static_cast<double>(score.tokens);
  return result;
}

Result with_memory(int64_t length) {
  return run(small_model(TransformerXLAttentionConfig{}),
             {.mode = EvaluationMode::memory, .tgt_len = 128, .mem_len = length - 128}, 8 * length);
}

/// Only the few tokens beyond the first window show what each costs; those of the window are free.
Result sliding(int64_t length) {
  LanguageModelConfig config = small_model(MultiHeadAttentionConfig{});
  config.position = TokenPosition::learned;
  config.max_len = length;
  EvaluationConfig evaluation{.mode = EvaluationMode::sliding, .tgt_len = length, .batch_size = 1};
  Result first = run(config, evaluation, length), more = run(config, evaluation, length + 16);
  more.milliseconds[0] -= first.milliseconds[0];
  more.tokens -= first.tokens;
  return more;
}

}  // namespace

std::vector<Case> evaluation_cases() {
  std::vector<Case> list;
  for (int64_t length : {800, 1800, 3800}) {
    std::string seen = ", attention length " + std::to_string(length);
    list.push_back(
        {"scoring transformer_xl" + seen, [length](int) { return with_memory(length); }});
    list.push_back({"scoring sliding" + seen, [length](int) { return sliding(length); }});
  }
  return list;
}

}  // namespace shiftgrad::bench
