#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/errors.h"

namespace shiftgrad {

namespace {

double cosine(const Schedule& schedule, int64_t step) {
  if (step >= schedule.lr_decay_iters) return schedule.min_lr;
  auto passed = static_cast<double>(step - schedule.warmup_iters);
  auto length = static_cast<double>(schedule.lr_decay_iters - schedule.warmup_iters);
  double share = 0.5 * (1 + std::cos(std::numbers::pi * passed / length));
  return schedule.min_lr + share * (schedule.learning_rate - schedule.min_lr);
}

}  // namespace

double Schedule::at(int64_t step) const {
  auto update = static_cast<double>(step + 1);
  auto warmup = static_cast<double>(warmup_iters);
  if (type == "inverse_sqrt") {
    double peak = std::max(warmup, 1.0);
    return learning_rate * std::min(update / peak, std::sqrt(peak / update));
  }
  if (step < warmup_iters) return learning_rate * update / (warmup + 1);
  return type == "cosine" ? cosine(*this, step) : learning_rate;
}

void Schedule::check() const {
  require(type == "constant" || type == "cosine" || type == "inverse_sqrt", "schedule: type \"",
          type, "\", expected constant, cosine or inverse_sqrt");
  auto at_least_0 = [](const char* field, auto value) {
    require(std::isfinite(static_cast<double>(value)) && value >= 0, "schedule: ", field, " ",
            value, ", expected at least 0");
  };
  at_least_0("learning_rate", learning_rate);
  at_least_0("min_lr", min_lr);
  at_least_0("warmup_iters", warmup_iters);
  at_least_0("lr_decay_iters", lr_decay_iters);
}

}  // namespace shiftgrad
