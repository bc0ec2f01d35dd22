#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "shiftgrad/core/io/safetensors.h"

namespace shiftgrad {

/// What a checkpoint says of the run that its weights are from, whatever the model.
struct RunState {
  /// Updates that made the weights.
  int64_t step = 0;
  /// In nats, where measured.
  std::optional<double> train_loss{}, validation_loss{};
  /// All that it takes to go on, as the trainer's `saved` gives it, or nothing.
  std::map<std::string, StoredTensor> trainer{};
};

}  // namespace shiftgrad
