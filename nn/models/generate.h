#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "shiftgrad/nn/models/language_model.h"
#include "shiftgrad/nn/models/sampling.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct GenerateOptions {
  /// How many tokens to make.
  int64_t length = 0;
  Sampling sampling{};
  uint64_t seed = 0;
  /// How many earlier tokens each block remembers; Transformer-XL: the length of its memory. A
  /// longer prompt is fed in pieces of that length.
  int64_t mem_len = unlimited;
  /// Where these are the last tokens that were made, no more are; empty for no such end.
  std::vector<int32_t> stop{};
};

/// Throws when the prompt is empty or names a token that the model does not have, and when an
/// option is out of its range.
void check(const LanguageModel& model, const std::vector<int32_t>& prompt,
           const GenerateOptions& options);

/// A prompt that the model has read, once, to be continued any number of times. Each token is fed
/// once: what the model needs of the past is in its state, so no prefix is computed again. Only a
/// model with learned absolute positions has to, once they are used up: it starts afresh from the
/// last half of them, as it does when the prompt is longer than they are.
class ReadPrompt {
 public:
  /// Throws as `check` does. The model must outlive the prompt.
  ReadPrompt(const LanguageModel& model, const std::vector<int32_t>& prompt,
             const GenerateOptions& options);
  ~ReadPrompt();

  /// The tokens that follow, without the prompt. `on_token`, if given, receives each as it is made.
  /// Equal seeds give equal tokens; each number draws from a random stream of its own, so that its
  /// tokens are the same whichever others are made.
  std::vector<int32_t> continued(int64_t number = 0,
                                 const std::function<void(int32_t token)>& on_token = {}) const;

 private:
  class Continuation;
  std::vector<int32_t> prompt_;
  GenerateOptions options_;
  std::unique_ptr<const Continuation> read_;
};

/// The prompt's continuation number 0. Several threads may generate from one model.
std::vector<int32_t> generate(const LanguageModel& model, const std::vector<int32_t>& prompt,
                              const GenerateOptions& options,
                              const std::function<void(int32_t token)>& on_token = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
