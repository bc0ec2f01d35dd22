#pragma once

// Texts for models whose tokens are bytes: a vocabulary of 256, which has every text.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/read_file.h"
#include "nn/models/generate.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the bytes of a text as tokens, 0 to 255.
std::vector<int32_t> byte_tokens(std::string_view text);

/// Returns the bytes that the tokens stand for.
std::string byte_text(const std::vector<int32_t>& tokens);

/// Returns what follows the prompt, which is a text. Throws as `generate` of tokens does. Tokens in
/// braces are no text.
template <std::convertible_to<std::string_view> Text>
std::string generate(const SequenceModel& model, const Text& prompt,
                     const GenerateOptions& options) {
  return byte_text(generate(model, byte_tokens(prompt), options));
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
