#pragma once

#include <chrono>

namespace shiftgrad {

/// The time since it was made.
class Stopwatch {
 public:
  /// The seconds since the watch began.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace shiftgrad
