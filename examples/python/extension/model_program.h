#pragma once

// Whole models as programs. Tokens come as numbers of the model's own precision, in which every
// token of a vocabulary is exact.

#include <functional>
#include <memory>
#include <string>

#include "nn/models/beam_search.h"
#include "nn/models/generate.h"
#include "program.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// How a model writes: a language model by `text`, an encoder-decoder by `targets`, drawn as `text`
/// says if its temperature is above 0, and else searched with `beam`.
struct Generation {
  GenerateOptions text{};
  DecodingOptions targets{};
  BeamOptions beam{};
  /// Called after each token of a text; what it throws ends the generation.
  std::function<void()> on_token{};
};

/// Returns the program of a language_model or an encoder_decoder, or null for other names.
///
/// A language_model takes tokens [B, T], and as memory [L, B, M, C] the inputs of its L blocks for
/// earlier tokens. It returns logits [B, T, V]. Behind the logits stands, with "return_hidden" true
/// in its config, what the output layer reads, [B, T, V + C], and behind that, with
/// "return_memory", what the blocks read, [B, T, V + C + L·C].
///
/// An encoder_decoder takes targets [B, T], no memory, and sources [B, S], whose padding is the
/// key_padding_mask. A state belongs to the sources of its first step.
std::unique_ptr<Program> make_model_program(const std::string& name, const std::string& config,
                                            Init init);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
