#pragma once

// Tensors from parts, and parts of a tensor.

#include <vector>

#include "core/tensor.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Joins the tensors one after another along `axis`; the other sizes must agree. Undefined tensors
/// are left out, and one alone is returned as it is. PyTorch: cat.
Tensor concat(std::vector<Tensor> parts, int64_t axis);

/// Joins tensors of one shape along a new axis before `axis`. Throws when there is none, or the
/// shapes differ. PyTorch: stack.
Tensor stack(const std::vector<Tensor>& parts, int64_t axis = 0);

/// Returns views of `size` indices each along `axis`; the last one may be smaller. An empty axis
/// gives one empty part. Throws when `size` is below 1. PyTorch: split.
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis = 0);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
