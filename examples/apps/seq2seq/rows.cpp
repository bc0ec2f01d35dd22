#include "rows.h"

#include <algorithm>
#include <iostream>
#include <sstream>
#include <utility>

#include "core/errors.h"
#include "core/io/read_file.h"
#include "examples/apps/draw/printable.h"
#include "examples/apps/draw/utf8.h"

namespace seq2seq {

using shiftgrad::require;
using shiftgrad::text;

namespace {

/// Returns what is wrong with a row, or nothing.
std::optional<std::string> row_error(std::string_view row) {
  auto tabs = std::ranges::count(row, '\t');
  if (tabs != 1) return text(tabs, " tabs, expected a source, one tab and a target");
  if (row.front() == '\t') return "nothing before the tab";
  if (row.back() == '\t') return "nothing after the tab";
  return utf8_error(row);
}

}  // namespace

std::optional<std::string> utf8_error(std::string_view text) {
  for (size_t n = 0; n < text.size();) {
    apps::Utf8 character = apps::read_utf8(text.substr(n));
    if (character.kind != apps::Utf8::Kind::whole)
      return shiftgrad::text("byte ", n + 1, " is not UTF-8");
    n += character.length;
  }
  return {};
}

void report_bad_row(const std::string& place, int64_t line, const std::string& error, BadRows bad) {
  std::string message = text(place, ": line ", line, ": ", error);
  require(bad == BadRows::skip, message);
  std::cerr << "seq2seq: skipped " << apps::printable(message, apps::longest_line) << std::endl;
}

std::vector<Row> read_rows(const std::string& path, BadRows bad) {
  std::string content = shiftgrad::read_file(path);
  apps::drop_byte_order_mark(content);
  std::istringstream file(std::move(content));
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
  require(!rows.empty(), path, ": no rows");
  return rows;
}

}  // namespace seq2seq
