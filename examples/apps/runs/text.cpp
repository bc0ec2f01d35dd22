#include "text.h"

#include "core/errors.h"
#include "core/io/read_file.h"
#include "embedded_files.h"
#include "examples/apps/draw/utf8.h"

namespace apps {

using shiftgrad::require;

std::string embedded_source() {
  std::string source;
  for (std::string_view file : embedded_files) source += file;
  return source;
}

std::string read_text(const std::string& path) {
  if (path.empty()) return embedded_source();
  std::string text = shiftgrad::read_file(path);
  require(!text.empty(), path, ": an empty file");
  drop_byte_order_mark(text);
  require(!text.empty(), path, ": a byte order mark without a text");
  return text;
}

std::string text_name(const std::string& path) {
  return path.empty() ? "the embedded source" : path;
}

}  // namespace apps
