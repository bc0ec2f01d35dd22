#pragma once

// Functions that make a model to hold the weights of a file.

#include <map>
#include <string>

#include "core/errors.h"
#include "nn/parameters.h"
#include "nn/state_dict.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the model that `make(random)` makes, with parameters that have no values yet. Throws one
/// line that begins with `source` when the model cannot be made, or is much larger than the
/// weights.
template <class Make>
auto unfilled_model(const std::map<std::string, StoredTensor>& weights, const std::string& source,
                    Make make) {
  return in_name_of(source, [&] {
    UnfilledParameters unfilled(weights);
    Random random;
    return make(random);
  });
}

/// Returns that model with these weights. Throws where load_state_dict does, too.
template <class Make>
auto loaded_model(const std::map<std::string, StoredTensor>& weights, const std::string& source,
                  Make make) {
  auto model = unfilled_model(weights, source, make);
  load_state_dict(model, weights, source);
  return model;
}

/// Throws if loaded_model would throw.
template <class Make>
void check_loadable(const std::map<std::string, StoredTensor>& weights, const std::string& source,
                    Make make) {
  check_state_dict(unfilled_model(weights, source, make), weights, source);
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
