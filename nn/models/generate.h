#pragma once

// A text that goes on from a prompt, token by token.

#include <functional>
#include <span>
#include <vector>

#include "nn/caches.h"
#include "nn/models/sampling.h"
#include "nn/models/sequence_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How much `generate` writes, and how it chooses.
struct GenerateOptions {
  /// Number of tokens to generate, at most 10^9.
  int64_t length = 0;
  /// How a token is chosen.
  Sampling sampling{};
  /// The seed of the choices.
  uint64_t seed = 0;
  /// Number of earlier tokens that each block remembers (Transformer-XL's memory length). A longer
  /// prompt is fed in pieces of that length.
  int64_t mem_len = unlimited;
  /// Number of positions to use, where a model was trained on fewer than it has.
  int64_t positions = unlimited;
  /// Sequences of tokens. A generation ends once its last tokens are one of them, which it keeps.
  std::vector<std::vector<int32_t>> stop{};
};

/// Throws when the prompt is empty, when it has a token that the model does not have, and when an
/// option is out of range.
void check(const SequenceModel& model, const std::vector<int32_t>& prompt,
           const GenerateOptions& options);

/// A prompt that the model has read once and can continue any number of times. Each token is fed
/// once: the model's cache holds what it needs of the past, so no prefix is computed again. The
/// exception is a model whose positions are bounded, as learned absolute ones are, or by an option.
/// Once they are used up, or if the prompt is longer, it starts afresh from as many of the last
/// tokens as half of the positions.
class PrefilledPrompt {
 public:
  /// Reads the prompt. Throws as `check` does. The model must outlive this object.
  PrefilledPrompt(const SequenceModel& model, const std::vector<int32_t>& prompt,
                  const GenerateOptions& options);
  PrefilledPrompt(const SequenceModel&& model, const std::vector<int32_t>& prompt,
                  const GenerateOptions& options) = delete;

  /// Returns the tokens that follow, without the prompt. `on_token`, if given, receives each token
  /// as it is generated. Equal seeds give equal tokens. Each number draws from a random stream of
  /// its own, so its tokens do not depend on which others are generated.
  std::vector<int32_t> generate(int64_t number = 0,
                                const std::function<void(int32_t token)>& on_token = {}) const;

 private:
  /// Feeds tokens in pieces, after a fresh start if there are too few positions left, and keeps the
  /// logits of the token after them.
  void feed(std::span<const int32_t> tokens);

  const SequenceModel& model_;
  GenerateOptions options_;
  std::vector<int32_t> prompt_;
  int64_t positions_ = unlimited;
  CacheValue cache_;
  int64_t fed_ = 0;            // tokens in the cache
  std::vector<int32_t> text_;  // what was fed, as much of it as a fresh start may need
  Tensor logits_;              // [V]
};

/// Returns continuation number 0 of the prompt. Several threads may generate from one model.
std::vector<int32_t> generate(const SequenceModel& model, const std::vector<int32_t>& prompt,
                              const GenerateOptions& options,
                              const std::function<void(int32_t token)>& on_token = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
