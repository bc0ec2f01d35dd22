#pragma once

#include <string>

namespace shiftgrad {

/// A computation of the library for PyTorch, while it lives. Threads and precision are settings of
/// the process: a session sets its number of threads, and it waits for running sessions of another
/// precision to end. The caller does not hold Python's lock.
class Session {
 public:
  /// `precision` is "float32" or "bfloat16"; throws on anything else.
  Session(int threads, const std::string& precision);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

/// Makes a fork leave the sessions of other threads in the parent, from now on. A session makes
/// limits, so this is called when their own preparations for forks have been made.
void prepare_for_forks();

}  // namespace shiftgrad
