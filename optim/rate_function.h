#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace shiftgrad {

/// What the learning rate of an update may depend on.
struct RateInput {
  /// Number of updates made so far.
  int64_t step = 0;
  /// The rate of the last of them, 0 before the first.
  double learning_rate = 0;
  /// The validation loss of each evaluation so far, in nats.
  std::vector<double> losses{};
  /// Whether the last of these was made after the last update.
  bool is_evaluated = false;
};

/// Returns the learning rate of the next update, 0 or more. It is a function of its input alone, so
/// that a resumed run, and each of several peers, has the same rates. A tenth where an evaluation
/// is worse than the worst of the three before it:
///
///     [](const RateInput& now) {
///       if (now.step == 0) return 1e-3;
///       auto last = now.losses.end() - 1;
///       bool is_plateau = now.is_evaluated && now.losses.size() > 3 &&
///                         *last > *std::max_element(last - 3, last);
///       return is_plateau ? now.learning_rate / 10 : now.learning_rate;
///     }
using RateFunction = std::function<double(const RateInput& now)>;

}  // namespace shiftgrad
