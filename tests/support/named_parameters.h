#pragma once

#include <algorithm>
#include <string>

#include "tests/support/values.h"

namespace shiftgrad::test {

/// The parameter of this name. Throws when the module has none.
inline Tensor parameter(const Module& module, const std::string& name) {
  for (const Parameter& entry : parameters(module))
    if (entry.name == name) return entry.value;
  fail("no parameter ", name);
}

/// Sets a parameter to these values. Throws when the shapes differ.
inline void assign(const Module& module, const std::string& name, const Values& values) {
  Tensor target = parameter(module, name), source = values.tensor();
  require(target.shape() == source.shape(), name, " is ", target.shape(), ", not ", source.shape());
  std::copy_n(source.data(), source.count(), target.mutable_data());
}

inline void assign(const Module& module, const std::string& name, double value) {
  Tensor target = parameter(module, name);
  std::fill_n(target.mutable_data(), target.count(), static_cast<Scalar>(value));
}

/// Sets every parameter that `from` has under the same name to its values.
inline void assign_shared(const Module& module, const Module& from) {
  Weights weights(from);
  for (const Parameter& entry : parameters(module))
    if (weights[entry.name].defined()) assign(module, entry.name, weights[entry.name]);
}

}  // namespace shiftgrad::test
