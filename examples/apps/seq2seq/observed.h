#pragma once

// What a training notes of its model after each evaluation.

#include "examples.h"
#include "examples/apps/runs/observation.h"

namespace seq2seq {

/// Returns the first sources of the validation pairs, at most `most`, each once, with all of their
/// targets.
std::vector<Example> first_sources(const Data& data, size_t most);

/// Translates the sources greedily: how many translations are exact, how many of their symbols are
/// edits, the first few of them, and what the first one is aligned to.
apps::Observation observed(const shiftgrad::EncoderDecoder& model,
                           const std::vector<Example>& sources, const Data& data);

}  // namespace seq2seq
