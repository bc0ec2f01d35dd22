#pragma once

#include "core/io/atomic_file.h"

/// Writes a text in two pieces by write_file_atomically.
inline void write_atomically(const std::string& path, const std::string& text) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  std::span<const std::byte> pieces[] = {bytes.first(text.size() / 2),
                                         bytes.subspan(text.size() / 2)};
  shiftgrad::write_file_atomically(path, pieces);
}
