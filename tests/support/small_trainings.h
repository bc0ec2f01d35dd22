#pragma once

#include "optim/trainer.h"
#include "tests/support/small_models.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

inline TrainerConfig streams(int64_t mem_len) {
  return {.batch_size = 4,
          .block_size = 8,
          .batches = BatchType::streams,
          .mem_len = mem_len,
          .max_iters = 20,
          .learning_rate = 1e-2,
          .min_lr = 1e-3,
          .warmup_iters = 5};
}

inline TrainerConfig blocks() {
  TrainerConfig config = streams(0);
  config.batches = BatchType::blocks;
  return config;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
