#include "shiftgrad/nn/module.h"

#include <algorithm>

namespace shiftgrad::SHIFTGRAD_PRECISION {

void Visitor::operator()(const std::string& name, const Tensor& parameter, Decay decay) {
  if (!parameter.defined()) return;
  bool shared = std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& known) {
    return known.value.shares_storage(parameter);
  });
  if (shared) return;
  parameters.push_back({prefix_ + name, parameter, decay});
  places.push_back(&parameter);
}

void Visitor::operator()(const std::string& name, const Module& module) {
  std::string outer = prefix_;
  prefix_ += name + ".";
  module.visit(*this);
  prefix_ = outer;
}

std::vector<Parameter> parameters(const Module& module) {
  Visitor visitor;
  module.visit(visitor);
  return std::move(visitor.parameters);
}

std::vector<Tensor*> parameter_places(Module& module) {
  Visitor visitor;
  module.visit(visitor);
  std::vector<Tensor*> places;
  // The module is not const, so neither are its members.
  for (const Tensor* place : visitor.places) places.push_back(const_cast<Tensor*>(place));
  return places;
}

int64_t parameter_count(const Module& module) {
  int64_t count = 0;
  for (const Parameter& parameter : parameters(module)) count += parameter.value.count();
  return count;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
