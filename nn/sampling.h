#pragma once

#include <span>

#include "core/random.h"
#include "core/scalar.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// How the next token is chosen from a model's logits.
struct Sampling {
  /// Divides the logits: below 1 more certain, above 1 more surprising, 0 always the likeliest.
  double temperature = 1;
  /// Only the `top_k` likeliest tokens can be chosen (Fan et al. 2018); 0 is all of them.
  int64_t top_k = 0;
};

/// Throws when a setting is out of its range.
void check(const Sampling& sampling);

/// A token drawn from softmax(logits / temperature) over the top_k; of equal logits the first
/// counts as the likelier. Takes one number from `random`, or none at temperature 0. Throws when a
/// logit is not finite: nothing can be drawn from a model that has diverged.
int32_t sample(std::span<const Scalar> logits, const Sampling& sampling, Random& random);

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
