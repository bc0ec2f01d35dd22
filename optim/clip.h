#pragma once

#include <vector>

#include "shiftgrad/nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The Euclidean norm of all gradients taken as one vector; parameters without a gradient count as
/// 0. Summed in double, in a tree fixed by the sizes alone; NaN or infinite when a gradient is.
double gradient_norm(const std::vector<Parameter>& parameters);

/// Scales all gradients by max_norm / (norm + 1e-6) where that is less than 1, and returns the norm
/// they had (Pascanu et al. 2013, algorithm 1; PyTorch: nn.utils.clip_grad_norm_). A norm that is
/// NaN or infinite is returned with the gradients left alone: no scale would mend them. A max_norm
/// of 0 clips nothing.
double clip_gradient_norm(const std::vector<Parameter>& parameters, double max_norm);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
