#include "lent_parameters.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

LentParameters::LentParameters(std::string name, Module& module) : name_(std::move(name)) {
  std::vector<Parameter> initial = parameters(module);
  for (const Parameter& parameter : initial)
    parameters_.push_back({parameter.name, parameter.value.shape(), {}});
  // A shared parameter is listed at its first place; without that, at its next one.
  for (auto places = parameter_places(module); !places.empty(); places = parameter_places(module)) {
    for (Tensor* place : places) {
      auto same = [&](const Parameter& known) { return known.value.shares_storage(*place); };
      auto known = std::ranges::find_if(initial, same);
      parameters_[static_cast<size_t>(known - initial.begin())].places.push_back(place);
      *place = {};
    }
  }
  for (size_t n = 0; n < initial.size(); ++n)
    for (Tensor* place : parameters_[n].places) *place = initial[n].value;
}

std::vector<std::string> LentParameters::names() const {
  std::vector<std::string> result;
  for (const Lent& parameter : parameters_) result.push_back(parameter.name);
  return result;
}

LentParameters::Guard LentParameters::lend(std::span<const Tensor> tensors) const {
  require(tensors.size() == size(), name_, ": ", tensors.size(), " parameters, expected ", size());
  for (size_t n = 0; n < size(); ++n) {
    const auto& [name, shape, places] = parameters_[n];
    require(tensors[n].defined() && tensors[n].shape() == shape, name_, ": parameter ", name, " ",
            tensors[n].defined() ? text(tensors[n].shape()) : "is missing", ", expected ", shape);
  }
  for (size_t n = 0; n < size(); ++n)
    for (Tensor* place : parameters_[n].places) *place = tensors[n];
  return Guard(*this);
}

LentParameters::Guard::~Guard() {
  for (const Lent& parameter : lent_.parameters_)
    for (Tensor* place : parameter.places) *place = {};
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
