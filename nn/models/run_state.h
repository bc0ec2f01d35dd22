#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/io/safetensors.h"

namespace shiftgrad {

/// What a checkpoint says about the run that its weights come from, whatever the model.
struct RunState {
  /// Number of updates that made the weights.
  int64_t step = 0;
  /// Losses in nats, if measured.
  std::optional<double> train_loss{}, validation_loss{};
  /// Tensors needed to resume, as the trainer's `saved` returns them; may be empty.
  std::map<std::string, StoredTensor> trainer{};
};

}  // namespace shiftgrad
