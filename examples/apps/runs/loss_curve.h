#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "examples/apps/draw/chart.h"

namespace common {

/// A loss in nats, and the number of steps before it.
struct LossPoint {
  double step, loss;
};

/// A run's losses from its metrics, without those that are not finite: of each batch, and of
/// both texts or their beginnings. Speeds, in tokens/s, and the time of all steps are there if the
/// metrics have them.
struct LossCurve {
  std::vector<LossPoint> batches, training, validation;
  std::vector<double> speeds;
  double seconds = 0;

  /// Returns the step of the last loss.
  double last_step() const;
  /// Returns the lowest loss of the validation text, the first of these, or none.
  std::optional<LossPoint> best() const;
  /// Returns the last loss of the validation text up to a step, or none.
  std::optional<LossPoint> validation_at(double step) const;
};

/// Returns the curve of the run in a folder. Throws one line that begins with the path of its
/// metrics when they are missing or broken, or have no loss. An incomplete last line, which is
/// still being written, is no error.
LossCurve read_loss_curve(const std::string& out_dir);

/// Returns a line of a chart, of at most `most` evenly spread points and the last one.
Line loss_line(const std::string& name, const std::vector<LossPoint>& points, LineStyle style,
               size_t colour, size_t most = 500);

/// Returns {"steps": […], "losses": […]}.
nlohmann::json json_of(const std::vector<LossPoint>& points);

}  // namespace common
