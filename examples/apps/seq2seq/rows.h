#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seq2seq {

/// A source and its target, and their line in the file.
struct Row {
  std::string source, target;
  int64_t line = 0;
};

/// What to do with a row that is not a pair.
enum class BadRows { refuse, skip };

/// Reads the pairs of a file. A row is a source, a tab and a target, in UTF-8 with or without a
/// byte order mark. Throws one line that names the file, and the line number of a bad row: one
/// without a tab or with several, with nothing on one side, or not in UTF-8. If bad rows are
/// skipped, standard error says which and why.
std::vector<Row> read_rows(const std::string& path, BadRows bad);

/// Returns what is wrong with a text that is not UTF-8: its first bad byte.
std::optional<std::string> utf8_error(std::string_view text);

/// Throws `error`, or prints it with BadRows::skip, behind the place's name.
void report_bad_row(const std::string& place, int64_t line, const std::string& error, BadRows bad);

}  // namespace seq2seq
