#include "context_curves.h"

#include <algorithm>

#include "optim/evaluate.h"

namespace char_lm {

namespace {

/// Returns up to `count` evenly spread positions that have at least `context` characters before
/// them.
std::vector<int64_t> spread(int64_t context, int64_t characters, int64_t count) {
  int64_t there = characters - context;
  count = std::min(count, there);
  std::vector<int64_t> positions;
  for (int64_t k = 0; k < count; ++k) positions.push_back(context + k * there / count);
  return positions;
}

std::vector<double> block_losses(const ScoredRun& run, int64_t length, const Report& report) {
  constexpr int64_t tokens_at_once = 8192;
  shiftgrad::EvaluationConfig config{.mode = shiftgrad::EvaluationMode::chunks,
                                     .tgt_len = length,
                                     .batch_size = std::max<int64_t>(1, tokens_at_once / length),
                                     .progress = [&](int64_t done, int64_t) { report(done); }};
  std::vector<double> losses;
  evaluate(*run.model, run.tokens, config, &losses);
  return losses;
}

}  // namespace

ScoredRun scored_run(const SavedRun& saved, const std::string& name,
                     const std::vector<int32_t>& tokens) {
  ScoredRun run{
      name,
      std::make_shared<shiftgrad::LanguageModel>(usable_model(saved)),
      saved.flags.model.block_size,
      {},
      tokens};
  for (int32_t token : run.tokens) run.text += saved.vocabulary.decode(token);
  return run;
}

bool can_read(const ScoredRun& run, int64_t length) { return length <= run.model->limits().keys; }

Scoring exact_scoring(int64_t characters, int64_t longest, int64_t count) {
  std::vector<int64_t> positions = spread(longest, characters, count);
  return {[=](const ScoredRun&, int64_t length) { return std::ssize(positions) * length; },
          [=](const ScoredRun& run, int64_t length, const Report& report) {
            return context_losses(*run.model, run.tokens, positions, length, report);
          }};
}

Scoring block_scoring() {
  return {[](const ScoredRun& run, int64_t) { return std::ssize(run.tokens) - 1; }, block_losses};
}

ContextCurve curve_of(const ScoredRun& run, const ModelLosses& losses) {
  ContextCurve curve{run.name, run.block_size, std::ssize(losses.front()), {}};
  for (const std::vector<double>& nats : losses) curve.losses.push_back(mean_loss(nats));
  return curve;
}

}  // namespace char_lm
