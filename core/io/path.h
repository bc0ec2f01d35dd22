#pragma once

#include <filesystem>
#include <string>

#include "core/errors.h"

namespace shiftgrad {

/// The path that a text names. Throws where a zero byte is among its bytes, since the system would
/// take what stands before it for the whole path.
inline std::filesystem::path path_of(const std::string& text) {
  require(text.find('\0') == text.npos, "a zero byte, which no path can have");
  return text;
}

}  // namespace shiftgrad
