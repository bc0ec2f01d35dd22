#pragma once

#include <string>
#include <vector>

#include "nn/layer.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A layer at any depth of a module, such as the mixer "blocks.0.mixer" of a model.
struct NamedLayer {
  std::string name;
  const Layer& layer;
};

/// Returns all layers in a module, in the order in which it lists them. PyTorch: those among
/// module.named_modules().
std::vector<NamedLayer> layers(const Module& module);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
