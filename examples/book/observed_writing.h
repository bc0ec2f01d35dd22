#pragma once

// What a model attends to while it writes, and tokens that it is given to write.

#include <cstdint>
#include <string>
#include <vector>

#include "nn/models/generate.h"

namespace book {

using namespace shiftgrad;

/// What one choice of a token attends to: for each layer the weights [H, K] of the last token
/// before it. The keys are the last K tokens up to that one.
using Attended = std::vector<Tensor>;

/// A text that a model writes, token by token.
struct ObservedWriting {
  std::vector<int32_t> tokens;
  std::vector<Attended> attended;  // for each token
};

/// Token that the model chooses by itself.
constexpr int32_t free_choice = -1;

/// Writes as `generate` does, and records what each choice attends to. Token n is `given[n]` unless
/// that is free_choice or missing; its choice takes no other than that. Throws as `generate` does,
/// and for a model whose state has no single keys, as AFT's.
ObservedWriting observed_writing(const SequenceModel& model, const std::vector<int32_t>& prompt,
                                 const std::vector<int32_t>& given, const GenerateOptions& options);

}  // namespace book
