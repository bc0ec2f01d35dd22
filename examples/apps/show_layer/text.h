#pragma once

#include <string>

#include "worked_example.h"

namespace show_layer {

/// Returns the example as aligned text: the formula, then each table under its name and shape. A
/// value that the mask hides stands in parentheses.
std::string text_of(const WorkedExample& example, int64_t T, int64_t M);

}  // namespace show_layer
