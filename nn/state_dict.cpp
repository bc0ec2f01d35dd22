#include "nn/state_dict.h"

#include <cstring>
#include <vector>

#include "core/errors.h"
#include "core/io/tensor_file.h"
#include "core/walk.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

/// Copies row-major values of Scalar's type to a tensor of their shape, which may have gaps.
void copy(const StoredTensor& stored, const Tensor& target) {
  Layout layout = target.layout();
  Scalar* values = target.mutable_data() - layout.offset;
  const std::byte* next = stored.bytes.data();
  Walk<1>({&layout}).range(0, layout.count(), [&](const Walk<1>::Run& run) {
    for (int64_t n = 0; n < run.length; ++n, next += sizeof(Scalar))
      std::memcpy(values + run.at[0] + n * run.step[0], next, sizeof(Scalar));
  });
}

}  // namespace

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
    for (const auto& [name, value, decay] : targets) copy(tensors.at(name), value);
  });
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
