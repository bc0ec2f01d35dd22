#pragma once

// Texts for models whose tokens are bytes: a vocabulary of 256, which has every text.

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/read_file.h"
#include "nn/models/generate.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Returns the bytes of a text as tokens, 0 to 255.
std::vector<int32_t> byte_tokens(const std::string& text);

/// Returns what follows the prompt. Throws as `generate` of tokens does.
std::string generate(const SequenceModel& model, const std::string& prompt,
                     const GenerateOptions& options);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
