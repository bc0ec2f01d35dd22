#pragma once

#include <string>
#include <string_view>

namespace apps {

/// Returns the project's own source, file after file in the order of their names. Programs train on
/// it when no other text is given.
std::string embedded_source();

/// Returns the bytes of the file at `path`, without a byte order mark at its start. The file may be
/// a pipe. For an empty path it is the embedded source. Throws one line that begins with the path
/// when the file does not exist, cannot be read to its end, or is empty.
std::string read_text(const std::string& path);

/// Returns the name that messages use for the text at `path`.
std::string text_name(const std::string& path);

}  // namespace apps
