#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shiftgrad {

namespace {

/// Returns the share of learning_rate - min_lr that is left when the share `passed` of the decay, 0
/// to 1, is over.
double share_left(ScheduleType type, double passed) {
  return type == ScheduleType::linear ? 1 - passed
                                      : 0.5 * (1 + std::cos(std::numbers::pi * passed));
}

double decaying(const Schedule& schedule, int64_t step) {
  if (step >= schedule.lr_decay_iters) return schedule.min_lr;
  auto warmup = static_cast<double>(schedule.warmup_iters);
  double steps = static_cast<double>(step) - warmup;
  double length = static_cast<double>(schedule.lr_decay_iters) - warmup;
  double share = share_left(schedule.type, steps / length);
  return schedule.min_lr + share * (schedule.learning_rate - schedule.min_lr);
}

}  // namespace

double Schedule::at(int64_t step) const {
  check_fields("schedule", *this);
  require(step >= 0, "schedule: step ", step, ", expected at least 0");
  bool decays = type == ScheduleType::linear || type == ScheduleType::cosine;
  require(!decays || lr_decay_iters > 0, "schedule: ", type,
          " with lr_decay_iters 0, expected the step at which the decay ends, at least 1");
  auto update = static_cast<double>(step) + 1;
  auto warmup = static_cast<double>(warmup_iters);
  if (type == ScheduleType::inverse_sqrt || type == ScheduleType::noam) {
    double peak = std::max(warmup, 1.0);
    double highest = learning_rate;
    if (type == ScheduleType::noam) highest /= std::sqrt(static_cast<double>(d_model) * peak);
    return highest * std::min(update / peak, std::sqrt(peak / update));
  }
  if (step < warmup_iters) return learning_rate * update / (warmup + 1);
  return type == ScheduleType::constant ? learning_rate : decaying(*this, step);
}

int64_t warmed_up(int64_t all, int64_t warmup_iters, int64_t step) {
  if (step >= warmup_iters || warmup_iters < 0) return all;
  int64_t product = 0, sum = 0;
  bool is_whole = !__builtin_mul_overflow(all, step + 1, &product) &&
                  !__builtin_add_overflow(product, warmup_iters, &sum);
  if (is_whole && warmup_iters < INT64_MAX) return sum / (warmup_iters + 1);
  // Of numbers so great, the nearest one that a double has.
  double share = (static_cast<double>(step) + 1) / (static_cast<double>(warmup_iters) + 1);
  double part = std::clamp(share * static_cast<double>(all), -0x1p62, 0x1p62);
  return std::min(all, static_cast<int64_t>(part));
}

}  // namespace shiftgrad
