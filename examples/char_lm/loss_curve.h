#pragma once

#include <string>
#include <vector>

namespace char_lm {

/// A loss in nats per character, and the number of steps before it.
struct LossPoint {
  double step, loss;
};

/// A run's losses from its metrics, without those that are not finite.
struct LossCurve {
  std::vector<LossPoint> batches, validation;
};

/// Returns the curve of the run in a folder. Throws one line that begins with the path of its
/// metrics when they are missing or broken, or have no loss. An incomplete last line, which is
/// still being written, is no error.
LossCurve read_loss_curve(const std::string& out_dir);

}  // namespace char_lm
