#pragma once

// The sum at the heart of the Attention Free Transformer (Zhai et al. 2021, equation 2), for each
// channel by itself.
//
//     y_i = Σ_j e^(k_j + w_ij) v_j  /  Σ_j e^(k_j + w_ij)          over the keys j that i may see
//
// Position biases w are 0 outside a band of n keys around the diagonal. It begins at the key
// first(i) = start + step · i:
//
//     0 … first(i)-1  |  first(i) … first(i)+n-1       |  first(i)+n … K-1
//      far: w = 0     |  w_ij = bias[i, j - first(i)]  |   far: w = 0
//
// Sums over far keys are running sums that the queries share; the others are made for a block of
// queries at a time (`aft/kernel.h`): O((K + T (n + R)) C) for blocks of R. Sums are in double (in
// float for wide bands and while products round to bfloat16, where floats suffice), and relative to
// a key that all their queries see. A maximum over other keys, as in the paper's code, lets the
// future be seen in the last bits, and overflows.

#include "core/array.h"
#include "core/tensor.h"
#include "ops/score_terms.h"
#include "ops/softmax.h"
#include "ops/visibility.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Position biases [G, T, n], n ≥ 0, for G groups of C/G neighbouring channels each.
struct AftBand {
  /// The biases of the band [G, T, n].
  Tensor bias{};
  /// The key at which the band of query 0 begins.
  int64_t start = 0;
  /// How many keys later the band of the next query begins.
  int64_t step = 1;
};

/// The terms of an attention free layer: y_i = gate_i ⊙ Σ_j softmax_j(k_j + w_ij) v_j.
struct AftTerms {
  Tensor gate{};   ///< σ(q_i) [B, T, C]
  Tensor key{};    ///< k_j [B, K, C]
  Tensor value{};  ///< v_j [B, K, C]
  AftBand band{};  ///< w_ij
  /// Which keys a query sees.
  Visibility visibility{};
};

/// Mixes key and value [B, K, C] to y [B, T, C] for the last T of the K tokens. A query that sees
/// no key gets exactly 0. Keys may have any size. Where `visibility.hidden` hides keys from single
/// queries, no sums are shared and composed_aft does the work, as it does where a bias lies beyond
/// ±200. Throws on a window and on shapes that do not fit.
Tensor aft_mix(const Tensor& key, const Tensor& value, const AftBand& band,
               const Visibility& visibility);

/// Sums over keys of the past, for each channel of each batch member [B, 3, C]: the greatest key m,
/// Σ e^(k - m) and Σ e^(k - m) v.
using AftSums = Array<double>;

/// Returns the sums over no keys.
AftSums aft_no_sums(int64_t B, int64_t C);

/// Mixes key and value [B, K, C] as a causal aft_mix does, behind the earlier keys that `sums`
/// stand for. A key that lies before the band of a query moves to the sums first. Queries come
/// one after the other, so pieces of a sequence give the bits of the whole. Biases may have any
/// size. Time O(B C (K + T n)). Nothing is recorded. Throws where shapes do not fit.
Tensor aft_step(const Tensor& key, const Tensor& value, const AftBand& band, AftSums& sums);

/// Computes aft_mix from plain ops, as the paper writes it. It is for readers, for masks of single
/// queries, for callers that want to see the weights e^(k_j + w_ij) / Σ_j e^(k_j + w_ij)
/// [B, T, K, C] or to edit the terms content k_j and position_bias w_ij of each channel's score
/// [B, C, T, K], and for the tests of aft_mix. Time and memory O(B T K C).
Tensor composed_aft(const Tensor& key, const Tensor& value, const AftBand& band,
                    const Visibility& visibility, const ProbabilityRecorder& recorder = {},
                    const TermEditor& editor = {});

/// Throws an error that names aft when the tensors do not fit together.
void check_aft(const Tensor& key, const Tensor& value, const AftBand& band,
               const Visibility& visibility);

/// Throws unless a band is near enough for each place of a key to be an int64_t.
void check_band(const char* operation, int64_t start, int64_t step);

/// The band of a product: y[i, c] = a_i · b_{start + i + c}, 0 where b has no such row, for a [T,
/// r] and b [K, r]; y is [T, width]. It is shifted_rows of matmul(a, bᵀ), in time O((K + T) width
/// r). A gradient of 0 passes nothing on. Throws where shapes do not fit.
Tensor banded_product(const Tensor& a, const Tensor& b, int64_t width, int64_t start);

/// Shifts rows: y[g, i, c] = x[g, i, c + start + step · i], 0 where x has no such column; [G, T, m]
/// gives [G, T, width]. Cuts a band out of a matrix, and with both signs turned puts it back.
Tensor shifted_rows(const Tensor& x, int64_t width, int64_t start, int64_t step);

/// Returns the band with all K keys in it, 0 where there was none.
AftBand widened(const AftBand& band, int64_t K);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
