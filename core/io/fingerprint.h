#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "shiftgrad/core/io/safetensors.h"

namespace shiftgrad {

/// FNV-1a in 64 bits.
uint64_t hash(std::span<const std::byte> bytes);

/// What tells a text from other texts without keeping it.
struct Fingerprint {
  uint64_t tokens = 0;
  /// FNV-1a over all tokens, in 64 bits.
  uint64_t hash = 0;
};

/// That of a text.
Fingerprint fingerprint(std::span<const int32_t> text);

/// Both numbers as a tensor of a file, U64 [2].
StoredTensor stored(const Fingerprint& fingerprint);
/// The one called `name`. Throws when there is none.
Fingerprint loaded_fingerprint(const std::string& name,
                               const std::map<std::string, StoredTensor>& tensors);

}  // namespace shiftgrad
