#pragma once

#include <cstddef>
#include <cstdint>

namespace shiftgrad {

/// Returns a number that stands for the bytes in a piece of memory. Other bytes give the same number
/// by chance alone, once in 2^64; where all that changed is one word of 8 bytes, they never do.
uint64_t fingerprint(const void* data, size_t bytes);

}  // namespace shiftgrad
