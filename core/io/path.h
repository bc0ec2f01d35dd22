#pragma once

#include <filesystem>
#include <string>

#include "core/errors.h"

namespace shiftgrad {

/// The path that a text names: on Windows its UTF-8, elsewhere its bytes. Throws where a zero byte
/// is among them, since the system would take what stands before it for the whole path.
inline std::filesystem::path path_of(const std::string& text) {
  require(text.find('\0') == text.npos, "a zero byte, which no path can have");
  return std::u8string(text.begin(), text.end());
}

}  // namespace shiftgrad
