#pragma once

// Positions without parameters. Angles are worked out in double in both builds.

#include <cstdint>
#include <vector>

#include "shiftgrad/core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Sinusoids in halves (Dai et al. 2019; Vaswani et al. 2017, section 3.5, interleaves them):
///
///     R_p = [sin(p f_0) … sin(p f_{C/2-1}) | cos(p f_0) … cos(p f_{C/2-1})],   f_n = 10000^(-2n/C)
///
/// one row for each position: [positions, C]. Throws when C is odd, in the name of `layer`.
Tensor sinusoids(const char* layer, const std::vector<int64_t>& positions, int64_t width);

/// Rotary positions (Su et al. 2021): x [B, H, T, D] with the pair (n, n + D/2) of token i turned
/// by the angle (first + i) · 10000^(-2n/D).
Tensor rotate(const Tensor& x, int64_t first);

/// ALiBi's slope of each head (Press et al. 2022): 2^(-8(h+1)/H), and for an H that is no power of
/// two those of the power below it followed by every second one of the power above.
std::vector<double> alibi_slopes(int64_t heads);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
