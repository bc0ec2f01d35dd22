#include "text.h"

#include <algorithm>
#include <cmath>
#include <iomanip>

#include "core/errors.h"

namespace show_layer {

using shiftgrad::text;

namespace {

/// Returns the fewest digits after the point, up to 3, that show all values.
int digits_of(const std::vector<double>& values) {
  int digits = 0;
  for (double value : values)
    while (digits < 3 &&
           std::abs(value - std::round(value * std::pow(10, digits)) / std::pow(10, digits)) > 1e-6)
      ++digits;
  return digits;
}

std::string number(double value, int digits) {
  std::string written = text(std::fixed, std::setprecision(digits), value);
  return written == "-0" ? "0" : written;
}

/// The number of characters, which in UTF-8 is not that of the bytes.
size_t width(const std::string& words) {
  return static_cast<size_t>(
      std::ranges::count_if(words, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string right(const std::string& words, size_t room) {
  return std::string(room > width(words) ? room - width(words) : 0, ' ') + words;
}

/// Returns the table's lines: the columns' names, then each row after its name.
std::vector<std::vector<std::string>> cells_of(const Table& table, const Table* shown) {
  std::vector<std::vector<std::string>> lines(1, {""});
  int digits = digits_of(table.values);
  for (int64_t c = 0; c < table.columns; ++c) lines[0].push_back(table.column.label(c));
  for (int64_t r = 0; r < table.rows; ++r) {
    lines.push_back({table.row.label(r)});
    for (int64_t c = 0; c < table.columns; ++c) {
      size_t n = static_cast<size_t>(r * table.columns + c);
      std::string value = number(table.values[n], digits);
      bool hidden = table.has_hidden && shown->values[n] == 0;
      lines.back().push_back(hidden ? '(' + value + ')' : value + (table.has_hidden ? " " : ""));
    }
  }
  return lines;
}

std::string text_of(const Table& table, const Table* shown) {
  std::vector<std::vector<std::string>> lines = cells_of(table, shown);
  size_t room = 0, names = 0;
  for (const auto& line : lines) {
    names = std::max(names, width(line[0]));
    for (size_t c = 1; c < line.size(); ++c) room = std::max(room, width(line[c]));
  }
  std::string result =
      text(table.name, "  [", table.rows, ", ", table.columns, "]  ", table.meaning, '\n');
  for (const auto& line : lines) {
    std::string row = "  " + right(line[0], names);
    for (size_t c = 1; c < line.size(); ++c) row += "  " + right(line[c], room);
    row.erase(row.find_last_not_of(' ') + 1);
    result += row + '\n';
  }
  return result;
}

}  // namespace

std::string text_of(const WorkedExample& example, int64_t T, int64_t M) {
  auto shown = std::ranges::find(example.tables, visible, &Table::name);
  std::string result =
      text(example.layer, ": ", T, " new tokens after ", M, " remembered\n", example.formula, '\n');
  for (const Table& table : example.tables)
    result += '\n' + text_of(table, shown == example.tables.end() ? nullptr : &*shown);
  return result;
}

}  // namespace show_layer
