#pragma once

// Positions without parameters, and rows of tables that have some. Angles are computed in double in
// both builds.

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Sinusoids in halves (Dai et al. 2019). Vaswani et al. 2017, section 3.5, interleave them
/// instead:
///
///     R_p = [sin(p f_0) … sin(p f_{C/2-1}) | cos(p f_0) … cos(p f_{C/2-1})],   f_n = 10000^(-2n/C)
///
/// The result is [positions, C], a row for each position. Throws an error that names `layer` when C
/// is odd.
Tensor sinusoids(const char* layer, const std::vector<int64_t>& positions, int64_t width);
/// Returns those of `count` positions from `first` on.
Tensor sinusoids(const char* layer, int64_t first, int64_t count, int64_t width);

/// The number of distances from `farthest` down to `nearest`; 0 if `nearest` is greater. Throws an
/// error that names `layer` when a distance is beyond 10^12.
int64_t distance_count(const char* layer, int64_t farthest, int64_t nearest);
/// Returns these distances, the farthest first. Also throws when memory does not have them.
std::vector<int64_t> distances_between(const char* layer, int64_t farthest, int64_t nearest);

/// Returns the last `count` rows of a table [n, …], after as many rows `farther` as it lacks; by
/// default these are its first row. Throws when the count is below 0, or there is no such row.
Tensor last_rows(const Tensor& table, int64_t count, const Tensor& farther = {});

/// Rotary positions (Su et al. 2021). Returns x [B, H, T, D] with the pair (n, n + D/2) of token i
/// rotated by the angle (first + i) · 10000^(-2n/D). Throws when x has another rank or an odd D.
Tensor rotate(const Tensor& x, int64_t first);
/// Does the same by the tokens' sinusoids [T, D], which queries and keys can share. Throws when
/// these have another shape or gaps.
Tensor rotate(const Tensor& x, const Tensor& sinusoids);

/// ALiBi's slope for each head: 2^(-8(h+1)/H) if H is a power of two. Press et al. 2022 have this
/// for any H; otherwise we follow their code, which takes the slopes for the next lower power of
/// two, and then every second slope of the next higher one. Throws when the number of heads is
/// below 0.
std::vector<double> alibi_slopes(int64_t heads);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
