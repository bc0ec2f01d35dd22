#pragma once

#include <cstdint>
#include <string>

namespace shiftgrad {

/// The learning rate as a pure function of the step. All kinds first rise in a straight line for
/// `warmup_iters` steps; then
///
///     constant      learning_rate
///     cosine        half a cosine from learning_rate down to min_lr at `lr_decay_iters`, and
///                   min_lr from there on (Loshchilov & Hutter 2017; nanoGPT's get_lr)
///     inverse_sqrt  learning_rate · √(warmup_iters / (step + 1)) (Vaswani et al. 2017, section
///                   5.3, "Noam": a factor f there is learning_rate = f / √(d_model warmup_iters))
struct Schedule {
  std::string type = "cosine";
  double learning_rate = 1e-3;
  double min_lr = 0;
  int64_t warmup_iters = 0;
  int64_t lr_decay_iters = 0;

  /// The rate of the update that follows `step` earlier ones.
  double at(int64_t step) const;
};

/// Throws when the schedule's fields make no schedule, naming the bad one.
void check(const Schedule& schedule);

}  // namespace shiftgrad
