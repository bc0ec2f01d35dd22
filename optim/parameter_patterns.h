#pragma once

// Parameters chosen by patterns of their names, as shells have them: `*` stands for any part of a
// name, and commas separate patterns, as in "embedding.*,blocks.0.*". A pattern that matches no
// parameter is an error.

#include <string>
#include <vector>

#include "shiftgrad/nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The parameters that match none of the patterns. Throws when they match all.
std::vector<Parameter> not_frozen(const std::vector<Parameter>& parameters,
                                  const std::string& patterns);

/// For each parameter the factor of its learning rate, given as `PATTERN=FACTOR`: that of the last
/// pattern which matches, or 1. Throws at a factor that is not more than 0.
std::vector<double> learning_rate_factors(const std::vector<Parameter>& parameters,
                                          const std::string& patterns);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
