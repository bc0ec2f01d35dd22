#pragma once

// How the library sees PyTorch's tensors: in their own memory where it can, as a copy where memory
// alone does not say what the values are.

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/array.h"
#include "core/tensor.h"
#include "place.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the name of the n-th tensor of a call, for errors.
using TensorName = std::function<std::string(size_t n)>;

/// Returns the places of tensors, some of which may be None. Throws a TypeError, which names the
/// tensor, at one that has no shape, no strides or no memory of its own: a nested tensor, a sparse
/// gradient, or one that stands for another inside a transform of torch.func.
std::vector<Place> places(nanobind::list tensors, const TensorName& name);

/// Returns the tensors in their places, undefined for None. A gradient mirrors its tensor's memory,
/// so where one is wanted that memory should have neither gaps nor repetitions; otherwise the
/// tensor is a copy. So is one that is negated, that PyTorch keeps as zeros without memory, or that
/// overlaps itself other than by broadcasting. Throws where there should be memory and is none, as
/// after `untyped_storage().resize_(0)`.
std::vector<Tensor> seen(nanobind::list tensors, const std::vector<Place>& places,
                         const std::vector<bool>& wanted, const TensorName& name);

/// Returns one tensor in its place, as above.
Tensor seen(nanobind::handle tensor, const std::string& name);

/// Returns a copy of a torch.Tensor of bools; null for None. Errors name the layer and the mask.
std::shared_ptr<const Mask> mask(nanobind::handle tensor, const std::string& layer,
                                 const char* name);

/// Returns the address of a torch.Tensor's first element.
const void* address(nanobind::handle tensor);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
