#include "rows.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/errors.h"

namespace seq2seq {

using shiftgrad::require;
using shiftgrad::text;

namespace {

/// What is wrong with a row, or nothing.
std::optional<std::string> row_error(std::string_view row) {
  auto tabs = std::ranges::count(row, '\t');
  if (tabs != 1) return text(tabs, " tabs, expected a source, one tab and a target");
  if (row.front() == '\t') return "nothing before the tab";
  if (row.back() == '\t') return "nothing behind the tab";
  return utf8_error(row);
}

}  // namespace

size_t character_length(std::string_view text) {
  auto byte = [&](size_t n) { return static_cast<unsigned char>(text[n]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  // Overlong forms, surrogates, and what is above U+10FFFF (Unicode, table 3-7).
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t n = 2; n < length; ++n)
    if ((byte(n) & 0xC0) != 0x80) return 0;
  return length;
}

std::optional<std::string> utf8_error(std::string_view text) {
  for (size_t n = 0; n < text.size();) {
    size_t length = character_length(text.substr(n));
    if (length == 0) return shiftgrad::text("byte ", n + 1, " is not UTF-8");
    n += length;
  }
  return {};
}

void report_bad_row(const std::string& place, int64_t line, const std::string& error, BadRows bad) {
  std::string message = text(place, ": line ", line, ": ", error);
  require(bad == BadRows::skip, message);
  std::cerr << "seq2seq: skipped " << message << std::endl;
}

std::vector<Row> read_rows(const std::string& path, BadRows bad) {
  require(!std::filesystem::is_directory(path), path, ": a folder, expected a file");
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), path, ": ", std::strerror(errno));
  std::vector<Row> rows;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (auto error = row_error(line)) {
      report_bad_row(path, number, *error, bad);
      continue;
    }
    size_t tab = line.find('\t');
    rows.push_back({line.substr(0, tab), line.substr(tab + 1), number});
  }
  require(!file.bad(), path, ": cannot be read");
  require(!rows.empty(), path, ": no rows");
  return rows;
}

}  // namespace seq2seq
