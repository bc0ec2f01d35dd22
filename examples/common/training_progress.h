#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace char_lm {

/// Shows the progress of a training run on standard output. On a terminal it is a bar that redraws
/// itself; elsewhere, and under mpirun, it is plain lines.
class TrainingProgress {
 public:
  /// Sets up the output. `lines_interval` is the number of steps between two plain lines.
  /// `passed_on` says that what looks like a terminal is not one.
  TrainingProgress(int64_t steps, int64_t lines_interval, bool passed_on = false);
  ~TrainingProgress();
  TrainingProgress(const TrainingProgress&) = delete;
  TrainingProgress& operator=(const TrainingProgress&) = delete;

  /// Notes that `step` steps were made before.
  void start_at(int64_t step) { first_ = step; }
  /// Shows a step. Call it after each step.
  void show(int64_t step, double loss, double tokens_per_second);
  /// Prints a line that stays, above the bar.
  void print(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  std::string status(int64_t step, double loss, double tokens_per_second) const;
  void draw(int64_t step, const std::string& status);
  void erase();

  int64_t first_ = 0, steps_, lines_interval_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_drawn_{};
};

}  // namespace char_lm
