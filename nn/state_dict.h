#pragma once

// All parameters of a module by name, as files hold them.

#include <map>
#include <string>

#include "core/errors.h"
#include "core/io/safetensors.h"
#include "nn/module.h"
#include "nn/parameter_budget.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns every parameter by name, whose values are the module's own (stored_view), to be written
/// or compared at once. PyTorch: module.state_dict().
std::map<std::string, StoredTensor> state_view(const Module& module);

/// Returns a copy of every parameter by name. PyTorch: copy.deepcopy(module.state_dict()).
std::map<std::string, StoredTensor> state_dict(const Module& module);

/// Copies the values into the module's parameters, or throws and leaves all parameters as they
/// were. The error is one line that begins with `source` and lists the names that are missing,
/// unexpected or of another shape or type. Tensors of an open file (open_safetensors) are read into
/// their places: a disk that fails meanwhile throws, too, and leaves some of them read. PyTorch:
/// module.load_state_dict(…, strict=True).
void load_state_dict(const Module& module, const std::map<std::string, StoredTensor>& tensors,
                     const std::string& source);

/// Throws if load_state_dict would throw for these tensors.
void check_state_dict(const Module& module, const std::map<std::string, StoredTensor>& tensors);

/// Returns the model that `make` makes of parameters without values, with these weights. Throws one
/// line that begins with `source` when the model cannot be made, or is much larger than the
/// weights, and where load_state_dict does.
auto loaded_model(const std::map<std::string, StoredTensor>& weights, const std::string& source,
                  auto make) {
  ParameterBudget budget(weights);
  auto model = in_name_of(source, [&] { return make(Init(budget)); });
  load_state_dict(model, weights, source);
  return model;
}

/// Throws if loaded_model would throw.
void check_loadable(const std::map<std::string, StoredTensor>& weights, const std::string& source,
                    auto make) {
  ParameterBudget budget(weights);
  budget.is_filled = false;
  in_name_of(source, [&] { check_state_dict(make(Init(budget)), weights); });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
