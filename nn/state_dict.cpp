#include "nn/state_dict.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/errors.h"
#include "nn/json.h"
#include "nn/tensor_file.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

namespace {

/// `"a", "b" and 7 more`
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t most = 4;
  std::string list;
  for (size_t n = 0; n < std::min(most, names.size()); ++n)
    list += (n > 0 ? ", " : "") + shown(names[n]);
  return names.size() <= most ? list : text(list, " and ", names.size() - most, " more");
}

/// Throws unless the file's names are the module's.
void check_names(const std::vector<Parameter>& wanted,
                 const std::map<std::string, StoredTensor>& tensors) {
  std::set<std::string> names;
  std::vector<std::string> missing, unexpected;
  for (const Parameter& parameter : wanted) {
    names.insert(parameter.name);
    if (!tensors.contains(parameter.name)) missing.push_back(parameter.name);
  }
  for (const auto& [name, tensor] : tensors)
    if (!names.contains(name)) unexpected.push_back(name);
  if (missing.empty() && unexpected.empty()) return;
  fail(missing.empty() ? "" : "missing tensors " + listed(missing),
       missing.empty() || unexpected.empty() ? "" : "; ",
       unexpected.empty() ? "" : "unexpected tensors " + listed(unexpected));
}

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
  check_names(wanted, tensors);
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
