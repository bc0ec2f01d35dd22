#pragma once

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

}  // namespace shiftgrad
