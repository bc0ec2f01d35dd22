#pragma once

// How the next token is chosen from a model's logits x, in this order:
//
//     repetition   x_i is made less likely where i is among the last tokens of the text
//     temperature  p = softmax(x / temperature)
//     top_k        the k likeliest stay
//     top_p        of these, the fewest likeliest that together have top_p
//     min_p        of these, those that have min_p times the likeliest one's p
//
// What stays is drawn from by its p. Each filter works on what the ones before it left over, scaled
// to the sum 1; of equal logits the first counts as the likelier.

#include <span>
#include <vector>

#include "shiftgrad/core/random.h"
#include "shiftgrad/core/scalar.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct Sampling {
  /// Divides the logits: below 1 more certain, above 1 more surprising, 0 always the likeliest.
  double temperature = 1;
  /// Fan et al. 2018; 0 is all tokens.
  int64_t top_k = 0;
  /// Nucleus sampling (Holtzman et al. 2020), more than 0 and at most 1: the token that crosses the
  /// boundary stays. 1 is all tokens.
  double top_p = 1;
  /// Nguyen et al. 2024, 0 to 1; 0 is all tokens.
  double min_p = 0;
  /// θ of CTRL (Keskar et al. 2019, section 4.1), more than 0: the logit of a token that the last
  /// `repetition_window` have in them becomes x / θ, or x · θ where x is negative, which the paper
  /// would make likelier. 1 is no penalty.
  double repetition_penalty = 1;
  /// 0 is the whole text.
  int64_t repetition_window = 64;
};

/// Throws when a setting is out of its range.
void check(const Sampling& sampling);

/// The probability with which each token is chosen behind `text`, which only the repetition penalty
/// reads. A logit of -inf is a token that never is. Throws when a logit is inf or NaN, or all are
/// -inf: nothing can be drawn from a model that has diverged.
std::vector<double> probabilities(std::span<const Scalar> logits, const Sampling& sampling,
                                  std::span<const int32_t> text = {});

/// A token drawn from these. Takes one number from `random`, or none at temperature 0. Throws as
/// that does.
int32_t sample(std::span<const Scalar> logits, const Sampling& sampling, Random& random,
               std::span<const int32_t> text = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
