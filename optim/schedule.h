#pragma once

#include <cstdint>
#include <string>

namespace shiftgrad {

/// The learning rate as a pure function of the step. n = step + 1 counts the updates from 1, and
/// w = warmup_iters.
///
///     constant      learning_rate · n / (w + 1) while n ≤ w, then learning_rate
///     cosine        the same rise, then half a cosine down to min_lr at step lr_decay_iters, and
///                   min_lr from there on (Loshchilov & Hutter 2017; nanoGPT's get_lr)
///     inverse_sqrt  learning_rate · min(n / w, √(w / n)), with w at least 1 (Vaswani et al. 2017,
///                   section 5.3, "Noam": the paper's rate is that of 1 / √(d_model w) here)
struct Schedule {
  std::string type = "cosine";
  double learning_rate = 1e-3;
  double min_lr = 0;
  int64_t warmup_iters = 0;
  int64_t lr_decay_iters = 0;

  /// The rate of the update that follows `step` earlier ones.
  double at(int64_t step) const;
  /// Throws when the fields make no schedule, naming the bad one.
  void check() const;
};

}  // namespace shiftgrad
