#pragma once

#include <atomic>

namespace shiftgrad {

/// Whether this is one of Intel's CPUs. It asks the CPU: in a virtual machine, where that takes
/// microseconds, callers keep the answer.
inline bool is_intel() {
#ifdef __x86_64__
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

/// The kept answer to a question that takes long. Threads that ask at first all find it: a static
/// variable would let the others wait, in the child of a fork for ever.
class KeptAnswer {
 public:
  /// Returns what `ask` returned when it was first called.
  bool operator()(auto ask) {
    if (known_ == unknown) known_ = ask() ? yes : no;
    return known_ == yes;
  }

 private:
  enum Answer : unsigned char { unknown, no, yes };
  std::atomic<Answer> known_ = unknown;
};

}  // namespace shiftgrad
