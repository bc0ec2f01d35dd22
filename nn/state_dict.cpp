#include "nn/state_dict.h"

#include <vector>

#include "core/errors.h"
#include "core/io/tensor_file.h"
#include "core/machine/parallel.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::map<std::string, StoredTensor> state_view(const Module& module) {
  std::map<std::string, StoredTensor> tensors;
  for (const Parameter& parameter : parameters(module))
    tensors.emplace(parameter.name, stored_view(parameter.value));
  return tensors;
}

std::map<std::string, StoredTensor> state_dict(const Module& module) {
  std::map<std::string, StoredTensor> tensors;
  for (const Parameter& parameter : parameters(module))
    tensors.emplace(parameter.name, stored(parameter.value));
  return tensors;
}

void check_state_dict(const Module& module, const std::map<std::string, StoredTensor>& tensors) {
  Visitor visitor(module);
  const std::vector<Parameter>& wanted = visitor.parameters;
  for (const TiedName& tied : visitor.tied)
    require(!tensors.contains(tied.name), "unexpected tensor \"", tied.name,
            "\": this model ties it to ", tied.listed_as);
  std::vector<std::string> names;
  for (const Parameter& parameter : wanted) names.push_back(parameter.name);
  check_names(names, tensors);
  for (const auto& [name, value, decay] : wanted)
    check_stored(name, tensors.at(name), value.shape());
}

void load_state_dict(const Module& module, const std::map<std::string, StoredTensor>& tensors,
                     const std::string& source) {
  in_name_of(source, [&] {
    // All is checked before anything is copied.
    check_state_dict(module, tensors);
    std::vector<Parameter> targets = parameters(module);
    for (const Parameter& parameter : targets) parameter.value.mutable_data();  // or throws
    parallel_for(std::ssize(targets),
                 [&](int64_t n) { read_into(targets[n].value, tensors.at(targets[n].name)); });
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
