#pragma once

#include <filesystem>
#include <string>

namespace shiftgrad {

/// The path that a text names: on Windows its UTF-8, elsewhere its bytes.
inline std::filesystem::path path_of(const std::string& text) {
  return std::u8string(text.begin(), text.end());
}

}  // namespace shiftgrad
