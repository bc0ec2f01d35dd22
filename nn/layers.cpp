#include "nn/layers.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

std::vector<NamedLayer> layers(const Module& module) {
  Visitor visitor;
  module.visit(visitor);
  std::vector<NamedLayer> found;
  for (const auto& [name, part] : visitor.modules)
    if (auto* layer = dynamic_cast<const Layer*>(part)) found.push_back({name, *layer});
  return found;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
