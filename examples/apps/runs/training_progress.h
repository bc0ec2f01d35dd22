#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "examples/apps/draw/status_line.h"

namespace apps {

/// Shows the progress of a training run on standard output. On a terminal it is a bar that redraws
/// itself; elsewhere, and under mpirun, it is plain lines.
class TrainingProgress {
 public:
  /// Sets up the output. `lines_interval` is the number of steps between two plain lines.
  /// `plain` asks for plain lines on a terminal too.
  TrainingProgress(int64_t steps, int64_t lines_interval, bool plain = false);

  /// Notes that `step` steps were made before.
  void start_at(int64_t step) { first_ = step; }
  /// Shows a step. Call it after each step.
  void show(int64_t step, double loss, double tokens_per_second);
  /// Shows how much of an evaluation is done, on a terminal only.
  void show_evaluation(int64_t step, int64_t done, int64_t total);
  /// Prints a line that stays, above the bar.
  void print(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  std::string status(int64_t step, double loss, double tokens_per_second) const;

  int64_t first_ = 0, steps_, lines_interval_;
  StatusLine bar_{stdout};
  bool has_bar_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace apps
