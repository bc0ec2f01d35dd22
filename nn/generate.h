#pragma once

#include <functional>
#include <vector>

#include "nn/language_model.h"
#include "nn/sampling.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

struct GenerateOptions {
  /// How many tokens to make.
  int64_t length = 0;
  Sampling sampling{};
  uint64_t seed = 0;
  /// How many earlier tokens each block remembers; Transformer-XL: the length of its memory. A
  /// longer prompt is fed in pieces of that length.
  int64_t mem_len = unlimited;
};

/// Throws when the prompt is empty or names a token that the model does not have, and when an
/// option is out of its range.
void check(const LanguageModel& model, const std::vector<int32_t>& prompt,
           const GenerateOptions& options);

/// The tokens with which the model continues `prompt`, without the prompt. Each is fed once: what
/// the model needs of the past is in its state, so no prefix is computed again. Only a model with
/// learned absolute positions has to, once they are used up: it starts afresh from the last half of
/// them, as it does when the prompt is longer than they are.
///
/// `on_token`, if given, receives each token as it is made. Equal seeds give equal tokens. Several
/// threads may generate from one model. Throws as `check` does.
std::vector<int32_t> generate(const LanguageModel& model, const std::vector<int32_t>& prompt,
                              const GenerateOptions& options,
                              const std::function<void(int32_t token)>& on_token = {});

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
