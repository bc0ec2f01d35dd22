#pragma once

// Clipping: gradients are made smaller where their norm is too large.

#include <vector>

#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the Euclidean norm of all gradients, taken as one vector. Parameters without a gradient
/// count as 0. The sum is made in double, in a tree fixed by the sizes alone. The norm is NaN or
/// infinite when a gradient is. Throws, naming both, when two parameters share an element, which
/// would count twice.
double gradient_norm(const std::vector<Parameter>& parameters);

/// Scales all gradients by max_norm / (norm + 1e-6) if that is less than 1, and returns the norm
/// they had before (Pascanu et al. 2013, algorithm 1; PyTorch: nn.utils.clip_grad_norm_). If the
/// norm is NaN or infinite, the gradients stay as they are, since no scale would repair them. A
/// max_norm of 0 clips nothing. Throws as gradient_norm does, and when max_norm is less than 0 or
/// NaN.
double clip_gradient_norm(const std::vector<Parameter>& parameters, double max_norm);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
