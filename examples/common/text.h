#pragma once

#include <string>
#include <string_view>

namespace char_lm {

/// The project's own source, file after file in the order of their names: what is trained on when
/// nothing else is given.
std::string embedded_source();

/// The bytes of the file at `path`, which may be a pipe, without a byte order mark at its start; or
/// the embedded source for an empty path. Throws one line that begins with the path when there is
/// no such file, when it cannot be read to its end, and when nothing is in it.
std::string read_text(const std::string& path);

/// How messages call the text at `path`.
std::string text_name(const std::string& path);

}  // namespace char_lm
