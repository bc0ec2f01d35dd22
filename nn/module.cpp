#include "shiftgrad/nn/module.h"

#include <algorithm>

namespace shiftgrad::SHIFTGRAD_PRECISION {

void Visitor::operator()(const std::string& name, const Tensor& parameter, Decay decay) {
  if (!parameter.defined()) return;
  bool shared = std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& known) {
    return known.value.shares_storage(parameter);
  });
  if (!shared) parameters.push_back({prefix_ + name, parameter, decay});
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

int64_t parameter_count(const Module& module) {
  int64_t count = 0;
  for (const Parameter& parameter : parameters(module)) count += parameter.value.count();
  return count;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
