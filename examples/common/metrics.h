#pragma once

#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "shiftgrad/optim/trainer.h"

namespace char_lm {

/// A run's course as JSON lines: some of `step`, `loss`, `learning_rate`, `gradient_norm`,
/// `tokens_per_second`, `waiting` (the share of the step that was spent waiting for other
/// processes), `train_loss` and `validation_loss`, losses in nats.
class Metrics {
 public:
  /// Goes on after `step`: what the file says of later steps, or in a line that was cut off, is
  /// dropped. From step 0 it begins anew. Throws, in the name of the path, when it cannot be
  /// written, or read to its end: then it stays as it is.
  Metrics(const std::string& path, int64_t step);

  /// Throw when the line cannot be written.
  void write(const shiftgrad::StepReport& report, double tokens_per_second);
  void write(const shiftgrad::EvaluationReport& report);

 private:
  void write(const nlohmann::ordered_json& line);

  std::string path_;
  std::ofstream file_;
};

}  // namespace char_lm
