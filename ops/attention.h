#pragma once

// Attention with relative positions, with every term of every variant in one op. The distance from
// query i back to key j is δ = K - T + i - j; c = clip(-δ, -m, m) + m is its clipped form.
//
//     score_ij = factor · ( (q_i + content_bias)·k_j
//                           + (q_i + position_bias)·(position_rows[δ] + clipped_keys[c])
//                           + k_j·position_queries[δ]
//                           + position_scores[δ] + key_scores_j )
//                or a function of this, the place and parameters
//     p_i      = softmax_j(score_ij) over the visible keys, and a sink without a value
//     y_i      = Σ_j p_ij (v_j + clipped_values[c])
//
// Dai et al. 2019 have the two biases (u and v in the paper) and position_rows, Huang et al. 2018
// position_rows and position_scores, Shaw et al. 2018 clipped_keys and clipped_values, He et al.
// 2021 (DeBERTa) position_rows and position_queries, Press et al. 2022 position_scores, Lin et al.
// 2025 (FoX) key_scores. A term that is undefined is left out.

#include <memory>
#include <optional>

#include "core/tensor.h"
#include "ops/dropout.h"
#include "ops/score_function.h"
#include "ops/score_terms.h"
#include "ops/softmax.h"
#include "ops/visibility.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The terms of the equation. T queries stand behind K - T earlier keys.
struct RelativeAttention {
  Tensor query{};  ///< q_i [B, H, T, D]
  /// k_j [B, G, K, D], where G divides H: head h reads group h / (H / G). With G = H each head has
  /// keys of its own (grouped queries, Ainslie et al. 2023; G = 1 is multi-query attention, Shazeer
  /// 2019).
  Tensor key{};
  Tensor value{};  ///< v_j [B, G, K, E]; E may differ from D

  Tensor content_bias{};   ///< [H, D]
  Tensor position_bias{};  ///< [H, D], where position_rows or clipped_keys is defined

  /// position_rows and position_queries [n, H or 1, D], and position_scores [n, H]: one row for
  /// each distance from K - 1 down. n is at least K for a causal visibility and K + T - 1 for one
  /// that sees the future.
  Tensor position_rows{};
  /// What a distance asks of a key.
  Tensor position_queries{};
  /// A score of the distance alone.
  Tensor position_scores{};
  /// [B, H or 1, K]: a score of the key alone. It is added in floats whatever products are
  /// rounded to.
  Tensor key_scores{};

  /// clipped_keys [2m + 1, H or 1, D] and clipped_values [2m + 1, H or 1, E]: row c is for the
  /// clipped distance c. With m = 0 all keys share one row: clipped_values is then a bias on the
  /// values.
  Tensor clipped_keys{};
  /// What is added to the values.
  Tensor clipped_values{};

  /// 1 unless set; a layer's is 1/√D unless its equation sets another (nn/attention.h).
  std::optional<Scalar> factor{};
  /// What each score becomes behind the factor; none unless set. The backward pass then makes the
  /// scores again, whatever the number of keys.
  std::shared_ptr<const ScoreFunction> score_function{};
  /// One more logit of each head [H], which the factor does not scale. It takes its share of the
  /// probabilities and adds nothing to y, so the others add up to less than 1. A sink of 0 is the
  /// softmax with 1 more in its denominator.
  Tensor sink{};
  /// Which keys a query sees: all of them, unless set, and not only those up to its own place.
  Visibility visibility{};
  /// Dropout on the probabilities; p_ij of head h and batch member b is its element
  /// ((b·H + h)·T + i)·K + j.
  DropoutPattern dropout{};
};

/// Computes y [B, H, T, E] by tiles of queries and keys. There is no [B, H, T, K] tensor where K is
/// large, and memory is linear in T and K. A hidden key has the probability 0 whatever its score,
/// and so has one with a score of -inf; a query that sees no other gives 0 and no gradient. Results
/// have the same bits on any number of threads. They depend neither on other members of the batch
/// nor on what hidden tokens hold, also where that is NaN or infinite: a pair with a probability of
/// 0 takes no part in any sum, and a row of dy that is 0 passes no gradient on. y lies in memory as
/// [B, T, H, E], so that merging the heads is a view. Time O(B H T K (D + E)), less what no query
/// of a tile sees. Throws when shapes do not fit together. PyTorch: scaled_dot_product_attention
/// with scale=factor, when the biases, position_rows, position_scores, key_scores, score_function,
/// sink and the clipped tables are undefined; flex_attention with a score_mod has no backward pass
/// on a CPU.
Tensor relative_attention(const RelativeAttention& attention);

/// Returns p [B, H, T, K] before dropout, from plain ops. `editor` may change the terms of the
/// score before the factor. These are, in the words of Dai et al., content_content q_i·k_j and
/// content_position q_i·(position_rows[δ] + clipped_keys[c]); and content_bias, position_bias,
/// position_content k_j·position_queries[δ], position_scores and key_scores, where these are
/// defined.
Tensor attention_probabilities(const RelativeAttention& attention, const TermEditor& editor = {});

/// Computes relative_attention from attention_probabilities, as the papers write it. It is for
/// readers, for callers that want to see probabilities or edit terms, and for the tests.
Tensor composed_attention(const RelativeAttention& attention,
                          const ProbabilityRecorder& recorder = {}, const TermEditor& editor = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
