#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "status_line.h"

namespace apps {

/// Shows on standard error how much of a task is done and how long the rest will take. If that is
/// not a terminal, it shows nothing.
class Progress {
 public:
  /// Starts the clock. `unit` names what is counted, such as characters.
  explicit Progress(const std::string& unit) : unit_(unit) {}

  /// Shows that this many units are done. A total of 0 means that it is not known.
  void show(int64_t done, int64_t total);
  /// Removes what is shown until the next call, so that something else can be printed.
  void pause() { line_.erase(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::string unit_;
  StatusLine line_{stderr};
  Clock::time_point start_ = Clock::now();
};

}  // namespace apps
