#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seq2seq {

/// A source and its target, and the line of the file where they stand.
struct Row {
  std::string source, target;
  int64_t line = 0;
};

/// What to do with a row that is none.
enum class BadRows { refuse, skip };

/// The pairs of a file: lines of a source, a tab and a target, in UTF-8 with or without a byte
/// order mark. Throws one line that names the file, and the line at a row that is none: without its
/// tab or with several, with nothing on one side, not in UTF-8. Where bad rows are skipped,
/// standard error says which and why.
std::vector<Row> read_rows(const std::string& path, BadRows bad);

/// What is wrong with a text: the first byte that is not UTF-8.
std::optional<std::string> utf8_error(std::string_view text);

/// Throws, or with BadRows::skip prints, `error` in the name of the place.
void report_bad_row(const std::string& place, int64_t line, const std::string& error, BadRows bad);

}  // namespace seq2seq
