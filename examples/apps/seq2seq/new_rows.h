#pragma once

#include <cstdint>

#include "run.h"

namespace seq2seq {

/// Returns the run with more symbols: its own keep their numbers and their rows of the weights, and
/// the rows of others are a new model's of this seed. A state of the training is left out.
SavedRun with_symbols(const SavedRun& run, const Symbols& source, const Symbols& target,
                      uint64_t seed);

}  // namespace seq2seq
