#pragma once

#include <ostream>

#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Prints how many numbers a module's parameters have, and the name and the shape of each, below
/// the modules that it is in:
///
///     Module of 42 parameters
///       embedding
///         weight [9, 6]
///       blocks
///         0
///           norm
///             weight [6]
///
/// A shared parameter appears once, where `visit` names it first. PyTorch: print(module).
std::ostream& operator<<(std::ostream& out, const Module& module);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
