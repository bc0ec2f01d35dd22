#pragma once

#include "core/machine/allocator.h"

namespace shiftgrad::test {

/// Fills what the allocator hands out with NaN while it lives.
class NanInFreshMemory {
 public:
  NanInFreshMemory() { fill_fresh_memory(true); }
  ~NanInFreshMemory() { fill_fresh_memory(false); }
  NanInFreshMemory(const NanInFreshMemory&) = delete;
  NanInFreshMemory& operator=(const NanInFreshMemory&) = delete;
};

}  // namespace shiftgrad::test
