#pragma once

#include <cstdint>

#include "core/field.h"

namespace shiftgrad {

/// How the learning rate goes on after its rise, as Schedule says.
enum class ScheduleType { constant, linear, cosine, inverse_sqrt, noam };
constexpr auto names(ScheduleType) {
  return std::array{"constant", "linear", "cosine", "inverse_sqrt", "noam"};
}

/// Calls field(value, {name, help, quantity}) for the numbers of a schedule, which configs of a
/// training have under the same names.
template <class Config, class Field>
void schedule_fields(Config& config, Field&& field) {
  field(config.learning_rate,
        {"learning_rate",
         "highest learning rate; with schedule noam a factor, which is 1 in the paper",
         quantity::rate, group::updates});
  field(config.min_lr,
        {"min_lr", "learning rate at the end of the decay", quantity::rate, group::updates});
  field(config.warmup_iters, {"warmup_iters", "steps over which the learning rate rises",
                              quantity::steps, group::updates});
  field(config.lr_decay_iters,
        {"lr_decay_iters", "step at which the learning rate's decay ends, 0 for max_iters",
         quantity::steps, group::updates});
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
  /// The step at which linear and cosine end. A training takes 0 for its own length; outside of
  /// one, these two need it.
  int64_t lr_decay_iters = 0;
  /// Width of the model; only noam uses it.
  int64_t d_model = 1;

  /// Returns the learning rate of the update that follows `step` earlier ones. Throws when a number
  /// is out of range, or when the decay has no end.
  double at(int64_t step) const;

  /// Calls field(value, {name, help, quantity}) for each number.
  void fields(auto&& field) {
    schedule_fields(*this, field);
    field(d_model, {"d_model", "width of the model", quantity::channels});
  }
};

/// Returns a number that rises as the learning rate does: all · n / (w + 1), rounded up, while n ≤
/// w, then `all`.
int64_t warmed_up(int64_t all, int64_t warmup_iters, int64_t step);

}  // namespace shiftgrad
