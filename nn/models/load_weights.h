#pragma once

// A model made to hold the weights of a file.

#include <map>
#include <string>

#include "shiftgrad/nn/models/checkpoint_parts.h"
#include "shiftgrad/nn/parameters.h"
#include "shiftgrad/nn/state_dict.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// The model that `make(random)` makes, with its parameters still without values. Throws one line
/// that begins with `source` when it cannot be made, or asks for much more than the weights are.
template <class Make>
auto unfilled_model(const std::map<std::string, StoredTensor>& weights, const std::string& source,
                    Make make) {
  return naming(source, [&] {
    UnfilledParameters unfilled(weights);
    Random random;
    return make(random);
  });
}

/// That model with these weights. Throws also where load_state_dict does.
template <class Make>
auto loaded_model(const std::map<std::string, StoredTensor>& weights, const std::string& source,
                  Make make) {
  auto model = unfilled_model(weights, source, make);
  load_state_dict(model, weights, source);
  return model;
}

/// Throws what loaded_model would.
template <class Make>
void check_loadable(const std::map<std::string, StoredTensor>& weights, const std::string& source,
                    Make make) {
  check_state_dict(unfilled_model(weights, source, make), weights, source);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
