#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/io/read_file.h"
#include "observation.h"
#include "optim/trainer.h"

namespace apps {

/// The course of a run as JSON lines. A line has some of `step`, `loss`, `learning_rate`,
/// `gradient_norm`, `tokens_per_second`, `seconds` (of all steps since the line before),
/// `waiting` (the share of the step spent waiting for other processes), `train_loss` and
/// `validation_loss`. The first line has `shiftgrad_version`, and so has the first one that another
/// version wrote. Losses are in nats. A line of its own has what was observed (observation.h).
class Metrics {
 public:
  /// Opens the file to continue after `step`. Lines about later steps and incomplete lines are
  /// dropped; with step 0 the file begins anew. Throws an error that names the path when the file
  /// cannot be written, or cannot be read to its end; it then stays as it is.
  Metrics(const std::string& path, int64_t step);

  /// Writes a line. These functions throw when it cannot be written.
  void write(const shiftgrad::StepReport& report, double tokens_per_second, double seconds);
  void write(const shiftgrad::EvaluationReport& report);
  void write(const Observation& observed);

 private:
  void write(nlohmann::ordered_json line);

  std::string path_, version_;  // what the lines so far name
  shiftgrad::Descriptor file_{-1};
};

}  // namespace apps
