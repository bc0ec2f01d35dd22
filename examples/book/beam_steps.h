#pragma once

// A beam search, step by step: the targets that each step compares, and those that it keeps.

#include <cstdint>
#include <vector>

#include "nn/models/beam_search.h"

namespace book {

using namespace shiftgrad;

struct BeamCandidate {
  Hypothesis hypothesis;
  double score = 0;
  bool ended = false, kept = false;
};

/// Returns, for each step, the targets that have ended and the likeliest continuations of the
/// others, the greatest score first. The last step's kept candidates are what `beam_search`
/// returns. Each target is fed anew, which is slow and easy to follow.
std::vector<std::vector<BeamCandidate>> beam_steps(const EncoderDecoder& model,
                                                   const std::vector<int32_t>& source,
                                                   const DecodingOptions& options,
                                                   const BeamOptions& beam);

}  // namespace book
