#pragma once

#include "run_folder.h"

namespace char_lm {

/// Returns the run with a vocabulary that has all of its characters and others. Each character
/// keeps its rows of the weights. Those of new characters are a new model's of this seed, and so
/// is nothing else. A state of the training is left out.
SavedRun with_vocabulary(const SavedRun& run, const Vocabulary& vocabulary, uint64_t seed);

}  // namespace char_lm
