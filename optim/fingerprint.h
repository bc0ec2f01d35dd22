#pragma once

// Numbers that tell a text from others, so that a run resumes on its own text alone.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/kept_text.h"

namespace shiftgrad {

/// The FNV-1a hash of the bytes, in 64 bits.
uint64_t hash(std::span<const std::byte> bytes);

/// Two numbers that tell a text from other texts without keeping it.
struct Fingerprint {
  /// The number of tokens, or of whatever the data consist of.
  uint64_t tokens = 0;
  /// FNV-1a over the tokens, each as a whole in place of its bytes, in 64 bits.
  uint64_t hash = 0;
  /// What is counted, as an error calls it.
  const char* unit = "elements";
};

/// Returns the fingerprint of a text.
Fingerprint fingerprint(const KeptText& text);

}  // namespace shiftgrad
