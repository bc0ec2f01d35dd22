#pragma once

// All parameters of a module by name, as files hold them.

#include <map>
#include <string>

#include "core/io/safetensors.h"
#include "nn/module.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns a copy of every parameter by name. PyTorch: module.state_dict().
std::map<std::string, StoredTensor> state_dict(const Module& module);

/// Throws if load_state_dict would throw for these tensors.
void check_state_dict(const Module& module, const std::map<std::string, StoredTensor>& tensors,
                      const std::string& source);

/// Copies the values into the module's parameters, or throws and leaves all parameters as they
/// were. The error is one line that begins with `source` and lists the names that are missing,
/// unexpected or of another shape or type. PyTorch: module.load_state_dict(…, strict=True).
void load_state_dict(const Module& module, const std::map<std::string, StoredTensor>& tensors,
                     const std::string& source);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
