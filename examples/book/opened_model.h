#pragma once

// A model that char_lm has trained, opened from the bytes of its checkpoint.

#include <cstdint>
#include <string>

#include "examples/apps/char_lm/vocabulary.h"
#include "nn/models/generate.h"
#include "nn/models/language_model.h"

namespace book {

using namespace shiftgrad;

struct OpenedModel {
  LanguageModel model;
  char_lm::Vocabulary vocabulary;
  int64_t step = 0;  // updates that made it
  int64_t block_size = 0, mem_len = 0;
  /// How it writes in char_lm: it remembers as many tokens as it saw in training, and has no more
  /// positions than it had there.
  GenerateOptions writing{};
};

/// Opens a checkpoint of char_lm, whose weights may be in bfloat16, from its bytes in base64.
/// Throws one line that begins with "open" for anything else.
OpenedModel opened_model(const std::string& base64);

}  // namespace book
