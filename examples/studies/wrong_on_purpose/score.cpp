#include "score.h"

namespace wrong_on_purpose {

namespace {

/// Columns begin … end-1 of tokens [B, T].
Tokens columns(const Tokens& tokens, int64_t begin, int64_t end) {
  Tokens cut{{tokens.shape[0], end - begin}, {}};
  for (int64_t b = 0; b < tokens.shape[0]; ++b)
    for (int64_t t = begin; t < end; ++t)
      cut.values.push_back(tokens.values[b * tokens.shape[1] + t]);
  return cut;
}

}  // namespace

Losses score(const LanguageModel& model, const Batch& batch, int64_t prompt) {
  Tape::Pause constant;
  Context context;
  int64_t T = batch.inputs.shape[1];
  Tensor logits = model(batch.inputs, {}, context).logits;
  Losses losses{
      cross_entropy(slice(logits, 1, prompt, T), columns(batch.targets, prompt, T)).item(), 0};
  auto cache = model.make_cache();
  model(columns(batch.inputs, 0, prompt), *cache, context);
  for (int64_t t = prompt; t < T; ++t)
    losses.in_order += cross_entropy(model(columns(batch.inputs, t, t + 1), *cache, context),
                                     columns(batch.targets, t, t + 1))
                           .item() /
                       static_cast<double>(T - prompt);
  return losses;
}

}  // namespace wrong_on_purpose
