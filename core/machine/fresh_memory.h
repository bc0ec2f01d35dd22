#pragma once

namespace shiftgrad {

/// Makes `allocate` fill each block that it hands out with NaN, be it new or used before, until it
/// is called with false. It is for tests: what reads memory that nobody has written then shows.
void fill_fresh_memory(bool fill);

}  // namespace shiftgrad
