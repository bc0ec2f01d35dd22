#pragma once

#include <string>
#include <vector>

#include "nn/module.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// The parameters whose names match none of the patterns, which are separated by commas and as
/// shells have them, `*` for any part of a name: "embedding.*,blocks.0.*". Throws when a pattern
/// matches no parameter, or when they match all.
std::vector<Parameter> not_frozen(const std::vector<Parameter>& parameters,
                                  const std::string& patterns);

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
