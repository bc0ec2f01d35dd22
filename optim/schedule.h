#pragma once

#include <cstdint>

#include "core/named.h"

namespace shiftgrad {

/// How the learning rate goes on after its rise, as Schedule says.
enum class ScheduleType { constant, linear, cosine, inverse_sqrt, noam };
constexpr auto names(ScheduleType) {
  return std::array{"constant", "linear", "cosine", "inverse_sqrt", "noam"};
}

/// The learning rate as a pure function of the step. n = step + 1 counts the updates from 1, and
/// w = warmup_iters.
///
///     constant      learning_rate · n / (w + 1) while n ≤ w, then learning_rate
///     linear        the same rise, then a straight line down to min_lr at step lr_decay_iters, and
///                   min_lr from there on
///     cosine        the same with half a cosine (Loshchilov & Hutter 2017; nanoGPT's get_lr)
///     inverse_sqrt  learning_rate · min(n / w, √(w / n)), with w at least 1
///     noam          learning_rate / √d_model · min(1 / √n, n / √w³), with w at least 1 (Vaswani et
///                   al. 2017, section 5.3, where learning_rate is 1)
struct Schedule {
  /// How the rate goes on after its rise.
  ScheduleType type = ScheduleType::cosine;
  double learning_rate = 1e-3;
  double min_lr = 0;
  int64_t warmup_iters = 0;
  int64_t lr_decay_iters = 0;
  /// Width of the model; only noam uses it.
  int64_t d_model = 1;

  /// Returns the learning rate of the update that follows `step` earlier ones.
  double at(int64_t step) const;
};

/// Returns a number that rises as the learning rate does: all · n / (w + 1), rounded up, while n ≤
/// w, then `all`.
int64_t warmed_up(int64_t all, int64_t warmup_iters, int64_t step);

}  // namespace shiftgrad
