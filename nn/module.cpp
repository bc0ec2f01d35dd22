#include "nn/module.h"

#include <algorithm>
#include <functional>

#include "core/errors.h"
#include "core/tape.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

Visitor::Visitor(const Module& module) { module.visit(*this); }

void Visitor::operator()(const std::string& name, const Tensor& parameter, Decay decay) {
  if (!parameter.defined()) return;
  std::string full = prefix_ + name;
  for (const Parameter& known : parameters) {
    const Tensor& value = known.value;
    if (value.shares_storage(parameter) && value.layout() == parameter.layout()) {
      if (known.name != full) tied.push_back({full, known.name});
      return;
    }
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

void require_distinct(const char* operation, const std::vector<Parameter>& parameters) {
  // In the order of their addresses, those that have elements in common follow each other.
  struct Place {
    const Scalar *begin, *end;
    const Parameter* parameter;
  };
  std::vector<Place> places;
  for (const Parameter& parameter : parameters) {
    const Tensor& value = parameter.value;
    require(value.defined(), operation, ": parameter ", parameter.name, " is undefined");
    if (value.count() == 0) continue;
    const Scalar* start = value.data() - value.layout().offset;
    Interval all = *value.layout().interval();
    places.push_back({start + all.begin, start + all.end, &parameter});
  }
  std::ranges::sort(places, std::less(), &Place::begin);
  for (size_t n = 0; n < places.size(); ++n)
    for (size_t next = n + 1; next < places.size() && places[next].begin < places[n].end; ++next) {
      const auto& [one, other] = std::minmax(places[n].parameter, places[next].parameter);
      require(!one->value.shares_elements(other->value), operation, ": the parameters ", one->name,
              " and ", other->name, " have elements in common, expected each of them once");
    }
}

int64_t parameter_count(const Module& module) {
  int64_t count = 0;
  for (const Parameter& parameter : parameters(module)) count += parameter.value.count();
  return count;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
