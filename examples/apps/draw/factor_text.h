#pragma once

#include <cmath>
#include <string>

#include "ops/attention.h"

namespace apps {

/// Returns the factor of all terms of a score, as a formula shows it behind them: nothing, " / √D",
/// or " · 0.25".
inline std::string factor_text(const shiftgrad::RelativeAttention& terms) {
  using shiftgrad::Scalar;
  auto D = static_cast<double>(terms.query.size(3));
  Scalar factor = terms.factor.value_or(1);
  if (factor == 1) return "";
  return factor == static_cast<Scalar>(1 / std::sqrt(D)) ? " / √D" : shiftgrad::text(" · ", factor);
}

}  // namespace apps
