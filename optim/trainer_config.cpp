#include "optim/trainer_config.h"

#include "core/errors.h"

namespace shiftgrad {

void TrainerConfig::check() const {
  check_fields("trainer", *this);
  require(batch_warmup_iters == 0 || gradient_accumulation_steps > 1,
          "trainer: batch_warmup_iters ", batch_warmup_iters,
          " needs gradient_accumulation_steps of more than 1");
  require(mem_len == 0 || batches == BatchType::streams,
          "trainer: mem_len needs batches \"streams\"");
  require(ext_len == 0 || batches == BatchType::streams,
          "trainer: ext_len needs batches \"streams\"");
  require(block_step == 1 || batches == BatchType::blocks,
          "trainer: block_step needs batches \"blocks\"");
  require(loss_tokens <= block_size, "trainer: loss_tokens ", loss_tokens,
          ", expected at most block_size ", block_size);
}

}  // namespace shiftgrad
