#pragma once

#include <limits>
#include <map>
#include <string>
#include <variant>

#include "core/io/safetensors.h"
#include "core/random.h"
#include "nn/models/sequence_model.h"
#include "optim/batches.h"
#include "optim/optimizer.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// What changes from step to step in every training, except the weights and the place in the data.
struct LoopState {
  /// Number of updates made.
  int64_t step = 0;
  /// Random numbers for dropout.
  Random random;
  Optimizer optimizer;
  /// The lowest validation loss so far.
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t evaluations_since_best = 0;
};

/// Adds the state to tensors for a file:
///
///     step                     I64 [1]
///     best_loss                F64 [1]
///     evaluations_since_best   I64 [1]
///     dropout                  U64 [3]: seed, stream, counter
///     optimizer.updates.NAME   I64 [1] of a parameter
///     optimizer.first.NAME     of its shape, where the update rule has such moments
///     optimizer.second.NAME
void save(const LoopState& state, std::map<std::string, StoredTensor>& tensors);
/// Reads the state back. Throws one line when a tensor has another type or shape, or when a number
/// is out of range. check_names has checked that none is missing.
void load(LoopState& state, const std::map<std::string, StoredTensor>& tensors);

/// What changes from step to step in a sequence model's training.
struct TrainerState : LoopState {
  std::variant<RandomBlocks, ParallelStreams> batches;
  Memory memory;
};

/// Returns the whole state as tensors for a file: the loop's, and
///
///     blocks     U64 [3], of RandomBlocks: seed, stream, counter
///     streams    I64 [1], the position of ParallelStreams
///     memory.N   [B, M, C] of block N, where there is a memory
std::map<std::string, StoredTensor> to_tensors(const TrainerState& state);

/// Returns the saved state, for a trainer that starts as `start` does. Throws one line when a
/// tensor is missing, unexpected or of another type or shape, or when a number is out of range. The
/// caller checks the shapes of the memory.
TrainerState from_tensors(const std::map<std::string, StoredTensor>& tensors,
                          const TrainerState& start);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
