#pragma once

#include <limits>
#include <map>
#include <string>
#include <variant>

#include "core/random.h"
#include "nn/language_model.h"
#include "nn/safetensors.h"
#include "optim/batches.h"
#include "optim/optimizer.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

/// What changes from step to step, but for the weights.
struct TrainerState {
  /// Updates made.
  int64_t step = 0;
  /// Dropout's.
  Random random;
  std::variant<RandomBlocks, ParallelStreams> batches;
  Memory memory;
  Optimizer optimizer;
  /// The lowest validation loss so far.
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t evaluations_since_best = 0;
};

/// The whole state as tensors for a file:
///
///     step                     I64 [1]
///     best_loss                F64 [1]
///     evaluations_since_best   I64 [1]
///     dropout                  U64 [3]: seed, stream, counter
///     blocks                   U64 [3], the same for RandomBlocks
///     streams                  I64 [1], the position of ParallelStreams
///     memory.N                 [B, M, C] of block N, where there is a memory
///     optimizer.updates.NAME   I64 [1] of a parameter
///     optimizer.first.NAME     of its shape, where the update rule has such moments
///     optimizer.second.NAME
std::map<std::string, StoredTensor> to_tensors(const TrainerState& state);

/// The state that was saved, for a trainer that starts as `start` does. Throws one line when a
/// tensor is missing, unexpected or of another type or shape, or a number out of range; the shapes
/// of the memory are for the caller to check.
TrainerState from_tensors(const std::map<std::string, StoredTensor>& tensors,
                          const TrainerState& start);

/// The parts of it that other trainers have too. What loads throws as `from_tensors` does, but for
/// a tensor that is missing: check_names comes first.
StoredTensor stored_random(const Random& random);
Random loaded_random(const std::string& name, const std::map<std::string, StoredTensor>& tensors);
int64_t loaded_count(const std::string& name, const std::map<std::string, StoredTensor>& tensors);
void save(const Optimizer& optimizer, std::map<std::string, StoredTensor>& tensors);
void load(Optimizer& optimizer, const std::map<std::string, StoredTensor>& tensors);

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
