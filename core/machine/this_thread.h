#pragma once

#include <atomic>
#include <cstdint>

namespace shiftgrad {

/// A number for each thread, from 1, which no later thread gets.
inline uint32_t this_thread() {
  constinit static std::atomic<uint32_t> last = 0;
  constinit thread_local uint32_t number = 0;
  if (number == 0) number = ++last;
  return number;
}

}  // namespace shiftgrad
