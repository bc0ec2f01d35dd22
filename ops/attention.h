#pragma once

// Attention with relative positions, every term of every variant in one op. With δ = K - T + i - j
// the distance from query i back to key j, and c = clip(-δ, -k, k) + k its clipped form,
//
//     score_ij = factor · ( (q_i + u)·k_j  +  (q_i + v)·(r_δ + a_c)  +  s_δ )
//     p_i      = softmax_j(score_ij) over the visible keys
//     y_i      = Σ_j p_ij (v_j + b_c)
//
// Dai et al. 2019 (u, v, r), Huang et al. 2018 (r, s), Shaw et al. 2018 (a, b), Press et al. 2022
// (s). What is undefined is left out.

#include "shiftgrad/core/tensor.h"
#include "shiftgrad/ops/dropout.h"
#include "shiftgrad/ops/softmax.h"
#include "shiftgrad/ops/visibility.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The terms of the equation. T queries stand behind K - T earlier keys.
struct RelativeAttention {
  Tensor query{};  ///< q [B, H, T, D]
  Tensor key{};    ///< k [B, H, K, D]
  Tensor value{};  ///< v_j [B, H, K, D]

  Tensor content_bias{};   ///< u [H, D]
  Tensor position_bias{};  ///< v [H, D], where r or a is defined

  /// r [n, H or 1, D] and s [n, H]: a row for each distance from K - 1 down. n is at least K for a
  /// causal visibility and K + T - 1 for one that sees the future.
  Tensor position_rows{};
  Tensor position_scores{};

  /// a and b [2k+1, H or 1, D], row c for the clipped distance. With k = 0 all keys share one row:
  /// b is then a bias on the values.
  Tensor clipped_keys{};
  Tensor clipped_values{};

  Scalar factor = 1;
  Visibility visibility{};
  /// On the probabilities: element ((b·H + h)·T + i)·K + j.
  DropoutPattern dropout{};
};

/// y [B, H, T, D] by blocks of query rows: no [B, H, T, K] tensor where K is large, and memory
/// linear in T and K. A hidden key has the probability 0 whatever its score; a query that sees no
/// key gives 0 and no gradient. Results have the same bits on any number of threads, and depend
/// neither on what hidden tokens hold, as long as that is finite, nor on other members of the
/// batch. y lies in memory as [B, T, H, D], so that merging the heads is a view. Time O(B H T K D),
/// less what no query of a block sees. Throws when shapes do not fit together. PyTorch:
/// scaled_dot_product_attention, for u = v = r = s = a = b = 0.
Tensor relative_attention(const RelativeAttention& attention);

/// The same from plain ops, as the papers write it, with tensors [B, H, T, K] for the scores: for
/// readers, for whoever wants to see the probabilities [B, H, T, K] before dropout, and for the
/// tests of the above.
Tensor composed_attention(const RelativeAttention& attention,
                          const ProbabilityRecorder& recorder = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
