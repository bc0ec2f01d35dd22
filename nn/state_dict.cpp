#include "nn/state_dict.h"

#include <algorithm>
#include <vector>

#include "core/errors.h"
#include "nn/json.h"
#include "nn/tensor_file.h"
#include "nn/tensor_names.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

void copy_values(const Tensor& target, const Tensor& source) {
  std::copy_n(source.data(), source.count(), target.mutable_data());
}

}  // namespace

std::map<std::string, StoredTensor> state_dict(const Module& module) {
  std::map<std::string, StoredTensor> tensors;
  for (const Parameter& parameter : parameters(module))
    tensors.emplace(parameter.name, stored(parameter.value));
  return tensors;
}

void load_state_dict(const Module& module, const std::map<std::string, StoredTensor>& tensors,
                     const std::string& source) try {
  std::vector<Parameter> wanted = parameters(module);
  std::vector<std::string> names;
  for (const Parameter& parameter : wanted) names.push_back(parameter.name);
  check_names(names, tensors);
  std::vector<Tensor> loaded;
  for (const auto& [name, value, decay] : wanted) {
    const StoredTensor& tensor = tensors.at(name);
    require(tensor.shape == value.shape(), "tensor ", shown(name), ": ", tensor.shape,
            ", expected ", value.shape());
    loaded.push_back(loaded_tensor(name, tensor));
  }
  for (size_t n = 0; n < wanted.size(); ++n) copy_values(wanted[n].value, loaded[n]);
} catch (const Error& error) {
  fail(source, ": ", error.what());
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
