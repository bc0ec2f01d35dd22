#include "blanks.h"

namespace wrong_on_purpose {

void Blanks::leave(Batch& batch) {
  for (size_t n = 0; n < batch.inputs.values.size(); ++n) {
    bool hidden = random.below(7) == 0;
    batch.targets.values[n] = hidden ? batch.inputs.values[n] : ignored;
    if (hidden) batch.inputs.values[n] = blank;
  }
}

Tensor loss_of(const Tensor& logits, const Tokens& targets) {
  return cross_entropy(logits, targets, {.ignored = ignored});
}

double score_blanks(const LanguageModel& model, Batch batch, int32_t blank) {
  Tape::Pause constant;
  Blanks{blank, {.seed = 0, .stream = 2}}.leave(batch);
  Context context;
  return loss_of(model(batch.inputs, {}, context).logits, batch.targets).item();
}

}  // namespace wrong_on_purpose
