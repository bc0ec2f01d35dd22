#pragma once

// Texts in JSON. JSON holds UTF-8 alone, but names of files and the characters of a model may be
// any bytes. Every text goes into JSON and comes out of it through these functions.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace apps {

/// Returns the bytes as UTF-8. UTF-8 stays as it is, but for U+10F780 to U+10F7FF, which are for
/// private use: U+10F700 + b stands for a byte b that is not UTF-8. The bytes of these code points
/// themselves are written so, too, and bytes_of gives all bytes back.
std::string utf8_of(std::string_view bytes);

/// Returns the bytes that `utf8_of` made the text from.
std::string bytes_of(std::string_view utf8);

/// Prints a figure as one line of JSON, which is whole before its first byte is written. Its texts
/// may be any bytes. Throws for a number that is not finite, and prints nothing.
void print_json(nlohmann::json figure);

}  // namespace apps
