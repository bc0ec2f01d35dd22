#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace char_lm {

/// How far a training run is, on standard output: a bar that redraws itself on a terminal, plain
/// lines elsewhere, and where mpirun passes them on.
class Progress {
 public:
  /// `lines_interval`: steps between two plain lines; `passed_on`: what looks like a terminal is
  /// none.
  Progress(int64_t steps, int64_t lines_interval, bool passed_on = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// So many steps were made before.
  void start_at(int64_t step) { first_ = step; }
  /// After each step.
  void show(int64_t step, double loss, double tokens_per_second);
  /// A line that stays, above the bar.
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
