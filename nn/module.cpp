#include "nn/module.h"

#include <algorithm>

#include "core/errors.h"
#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Visitor::Visitor(const Module& module) { module.visit(*this); }

void Visitor::operator()(const std::string& name, const Tensor& parameter, Decay decay) {
  if (!parameter.defined()) return;
  std::string full = prefix_ + name;
  for (const Parameter& known : parameters) {
    const Tensor& value = known.value;
    if (value.shares_storage(parameter) && value.layout() == parameter.layout()) return;
    require(known.name != full, "module: two parameters of the name ", full, ", ", value.shape(),
            " and ", parameter.shape());
    require(!value.shares_elements(parameter), "module: the parameters ", known.name, " ",
            value.shape(), " and ", full, " ", parameter.shape(),
            " have elements in common, expected one tensor or two apart");
  }
  parameters.push_back({full, parameter, decay});
  places.push_back(&parameter);
}

void Visitor::operator()(const std::string& name, const Module& module) {
  std::string outer = prefix_;
  modules.emplace_back(prefix_ + name, &module);
  prefix_ += name + ".";
  module.visit(*this);
  prefix_ = outer;
}

std::vector<Parameter> parameters(const Module& module) { return Visitor(module).parameters; }

void require_listed(const Tape& tape, const std::vector<Parameter>& listed) {
  for (const Tensor& leaf : tape.leaves()) {
    bool known = leaf.count() == 0 || std::ranges::any_of(listed, [&](const Parameter& parameter) {
                   return parameter.value.shares_elements(leaf);
                 });
    require(known, "parameters: the forward pass reads a tensor of shape ", leaf.shape(),
            " that requires a gradient and that no visit() lists: nothing would train or save it; "
            "list it, or call require_gradient(false)");
  }
}

std::vector<Tensor*> parameter_places(Module& module) {
  std::vector<Tensor*> places;
  // The module is not const, so neither are its members.
  Visitor visitor(module);
  for (const Tensor* place : visitor.places) places.push_back(const_cast<Tensor*>(place));
  return places;
}

int64_t parameter_count(const Module& module) {
  int64_t count = 0;
  for (const Parameter& parameter : parameters(module)) count += parameter.value.count();
  return count;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
