#pragma once

#include <string>
#include <vector>

namespace char_lm {

/// A loss in nats per character after so many steps.
struct LossPoint {
  double step, loss;
};

/// A run's losses as its metrics have them; those that are not finite are left out.
struct LossCurve {
  std::vector<LossPoint> batches, validation;
};

/// The curve of the run in a folder. Throws one line that begins with the path of its metrics when
/// they are missing or broken, or have no loss; a last line that is still being written is not.
LossCurve read_loss_curve(const std::string& out_dir);

}  // namespace char_lm
