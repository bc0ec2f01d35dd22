#include "training.h"

namespace wrong_on_purpose {

Training::Training(const LanguageModel& model, Form form, std::span<const int32_t> text,
                   const TrainingConfig& config, int32_t blank)
    : model_(model),
      schedule_(config.schedule),
      batches_(text, config.batch_size, config.block_size, {.seed = config.seed, .stream = 1}),
      optimizer_(parameters(model), AdamW{}) {
  if (form == Form::two_way) blanks_ = {blank, {.seed = config.seed, .stream = 2}};
}

double Training::step() {
  Batch batch = batches_.next();
  if (blanks_) blanks_->leave(batch);
  Context context{.training = true};
  Tape tape;
  Tensor loss = loss_of(model_(batch.inputs, {}, context).logits, batch.targets);
  optimizer_.zero_gradients();
  tape.backward(loss);
  clip_gradient_norm(optimizer_.parameters(), 1);
  optimizer_.step(schedule_.at(steps_++));
  return loss.item();
}

}  // namespace wrong_on_purpose
