#include "text.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/errors.h"
#include "embedded_files.h"

namespace char_lm {

using shiftgrad::require;

std::string embedded_source() {
  std::string source;
  for (std::string_view file : embedded_files) source += file;
  return source;
}

std::string read_text(const std::string& path) {
  if (path.empty()) return embedded_source();
  require(!std::filesystem::is_directory(path), path, ": a folder, expected a file");
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), path, ": ", std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  require(!file.bad(), path, ": cannot be read");
  require(!text.view().empty(), path, ": an empty file");
  return std::move(text).str();
}

std::string text_name(const std::string& path) {
  return path.empty() ? "the embedded source" : path;
}

}  // namespace char_lm
