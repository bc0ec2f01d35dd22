#pragma once

// Normal numbers in vectors.

#include <span>

namespace shiftgrad {

/// Computes sqrt(-2 log p) cos(2π t) for each p of (0, 1] and t of [0, 1) in vectors, to within
/// `box_muller_error` of what the standard library's functions give. (Box and Muller 1958.)
extern void (*const near_box_muller)(std::span<const double> positives, const double* turns,
                                     double* numbers);
/// p is 2^-53 at least, so the root is below 8.6; Highway's logarithm and cosine err by four and
/// three units in the last place, and a thirtieth of this is the sum.
constexpr double box_muller_error = 0x1p-40;

}  // namespace shiftgrad
