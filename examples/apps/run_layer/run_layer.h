#pragma once

#include "case.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Runs the case's layer forward and backward. Throws for a broken case; the error names the layer
/// and what is wrong.
Answer run_layer(Case& given);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
