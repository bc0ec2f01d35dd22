#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "chart.h"

namespace common {

/// A loss in nats, and the number of steps before it.
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

/// Returns a line of a chart, of at most `most` evenly spread points and the last one.
Line loss_line(const std::string& name, const std::vector<LossPoint>& points, LineStyle style,
               size_t colour, size_t most = 500);

/// Returns {"steps": […], "losses": […]}.
nlohmann::json json_of(const std::vector<LossPoint>& points);

}  // namespace common
