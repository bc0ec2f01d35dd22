#pragma once

// What the allocator takes its blocks from.

#include <cstddef>

namespace shiftgrad {

/// Returns a block of the system, aligned to 64, or null where it has none. On Linux it lies in
/// huge pages if it is large, or shares them with others if it has at least 64 KiB: the CPU then
/// has one entry of its tables for 2 MiB, not for 4 KiB. Calls of this and of `return_to_system`
/// must not overlap.
void* take_from_system(size_t bytes);

/// Gives a block back that was taken with the same `bytes`, its pages as well: where blocks come
/// from the C library, it may keep them.
void return_to_system(void* block, size_t bytes);

}  // namespace shiftgrad
