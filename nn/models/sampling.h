#pragma once

// How the next token is chosen from a model's logits x. The steps are, in this order:
//
//     repetition   x_i is made less likely where i is among the last tokens of the text
//     temperature  p = softmax(x / temperature)
//     top_k        the k likeliest stay
//     top_p        of these, the fewest likeliest that together have top_p
//     min_p        of these, those that have min_p times the likeliest one's p
//
// A token is drawn from those that stay, by its p. Each filter works on what the earlier filters
// left, scaled to the sum 1. Of equal logits, the first counts as the likelier.

#include <span>
#include <vector>

#include "core/random.h"
#include "core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How the next token is chosen; the defaults draw from the model's own probabilities.
struct Sampling {
  /// Temperature, which divides the logits. Below 1 the choice is more certain, above 1 more
  /// surprising. 0 always takes the likeliest token.
  double temperature = 1;
  /// Number of likeliest tokens that stay (Fan et al. 2018); 0 keeps all.
  int64_t top_k = 0;
  /// Nucleus sampling (Holtzman et al. 2020), more than 0 and at most 1. The token that crosses the
  /// boundary stays; 1 keeps all.
  double top_p = 1;
  /// Least probability that stays, as a share of the likeliest token's (Nguyen et al. 2024), 0 to
  /// 1; 0 keeps all.
  double min_p = 0;
  /// Penalty θ of CTRL (Keskar et al. 2019, section 4.1), more than 0. The logit x of a token that
  /// is among the last `repetition_window` becomes x / θ, or x · θ if x is negative; there the
  /// paper's x / θ would make the token likelier. 1 is no penalty.
  double repetition_penalty = 1;
  /// Number of last tokens that the penalty looks at; 0 is the whole text.
  int64_t repetition_window = 64;
};

/// Throws when a setting is out of range.
void check(const Sampling& sampling);

/// Returns the probability with which each token is chosen after `text`, which only the repetition
/// penalty reads. A token with a logit of -inf is never chosen. Throws when a logit is inf or NaN,
/// or all are -inf, since nothing can be drawn from a model that has diverged.
std::vector<double> probabilities(std::span<const Scalar> logits, const Sampling& sampling,
                                  std::span<const int32_t> text = {});

/// Draws a token with these probabilities. Takes one number from `random`, or none at temperature
/// 0. Throws as `probabilities` does.
int32_t sample(std::span<const Scalar> logits, const Sampling& sampling, Random& random,
               std::span<const int32_t> text = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
