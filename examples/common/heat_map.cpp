#include "heat_map.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "printable.h"

namespace common {

using nlohmann::json;
using shiftgrad::text;

namespace {

std::string visible_symbol(const std::string& symbol) {
  if (symbol == " ") return "␣";
  if (symbol == "\n") return "↵";
  if (symbol == "\t") return "⇥";
  if (symbol.empty()) return symbol;
  auto first = static_cast<unsigned char>(symbol.front());
  if (symbol.size() > 1 || (first > 0x20 && first < 0x7F)) return printable(symbol);
  char digits[4];
  std::snprintf(digits, sizeof digits, "%02X", first);
  return digits;
}

double widest_of(const std::vector<std::string>& names, double letter) {
  double widest = 0;
  for (const std::string& name : names) widest = std::max(widest, width_of(name, letter));
  return widest;
}

double letter_of(double cell) { return std::clamp(cell * 0.75, 9.0, 15.0); }

/// The room on the left, for the names of rows and their title.
double left_room(const HeatMap& map, double cell) {
  return std::ceil(widest_of(visible_symbols(map.rows.symbols), letter_of(cell))) +
         (map.rows.name.empty() ? 8 : 26);
}

/// Returns what a page reads of a map, in JSON.
std::string metadata(const HeatMap& map) {
  json values = json::array();
  for (double value : map.values)
    values.push_back(std::isfinite(value) ? json(std::lround(value / map.limit * 1000)) : json());
  json all = {{"values", values},
              {"limit", map.limit},
              {"columns", map.column_count},
              {"row_title", map.rows.name},
              {"column_title", map.columns.name},
              {"row_names", visible_symbols(map.rows.symbols)},
              {"column_names", visible_symbols(map.columns.symbols)}};
  return xml(all.dump(-1, ' ', true, json::error_handler_t::replace));
}

/// Draws cells of one colour as one path: lines as wide as they are long, on a grid of unit cells.
/// White cells are left out.
void add_cells(Svg& svg, const HeatMap& map) {
  constexpr int levels = 32;
  std::map<std::pair<std::string, int>, std::string> paths;
  for (int64_t n = 0; n < std::ssize(map.values); ++n) {
    double value = map.values[static_cast<size_t>(n)];
    bool hidden = !std::isfinite(value);
    int level = hidden ? 6 : static_cast<int>(std::lround(strength(value, map.limit) * levels));
    const char* kind = hidden ? "hidden" : value < 0 ? "negative" : "positive";
    if (level > 0)
      paths[{kind, level}] += text('M', n % map.column_count, ' ', n / map.column_count, "h1");
  }
  for (const auto& [look, path] : paths)
    svg.add("<path class=\"", look.first, "\" opacity=\"",
            std::round(100.0 * look.second / levels) / 100, "\" d=\"", path, "\"/>");
}

/// Whether the names of columns have no room side by side.
bool are_upright(const HeatMap& map, double cell) {
  double letter = letter_of(cell);
  return widest_of(visible_symbols(map.columns.symbols), letter) > std::max(cell, 1.3 * letter);
}

/// Names rows and columns, as many as there is room for. Long names of columns are upright.
void add_names(Svg& svg, const HeatMap& map, double cell, double height) {
  double letter = letter_of(cell);
  auto every = static_cast<size_t>(std::ceil(8 / cell));
  auto begin = [&](const char* anchor) {
    svg.add("<g class=\"names\" style=\"font-size:", letter, "px\" text-anchor=\"", anchor, "\">");
  };
  auto middle = [&](size_t n) { return (static_cast<double>(n) + 0.5) * cell; };
  std::vector<std::string> rows = visible_symbols(map.rows.symbols),
                           columns = visible_symbols(map.columns.symbols);
  begin("end");
  for (size_t n = 0; n < rows.size(); n += every)
    svg.words(text("x=\"-5\" y=\"", middle(n) + letter * 0.35, '"'), rows[n]);
  svg.add("</g>");
  bool upright = are_upright(map, cell);
  begin(upright ? "end" : "middle");
  for (size_t n = 0; n < columns.size(); n += every)
    svg.words(upright ? text("transform=\"translate(", middle(n) + letter * 0.35, ' ', height + 5,
                             ") rotate(-90)\"")
                      : text("x=\"", middle(n), "\" y=\"", height + letter * 1.1, '"'),
              columns[n]);
  svg.add("</g>");
}

/// The room below, for the names of columns.
double below(const HeatMap& map, double cell) {
  if (map.columns.symbols.empty()) return 4;
  double letter = letter_of(cell);
  return std::ceil(are_upright(map, cell)
                       ? widest_of(visible_symbols(map.columns.symbols), letter) + 8
                       : letter * 1.4);
}

}  // namespace

std::vector<std::string> visible_symbols(const std::vector<std::string>& symbols) {
  std::vector<std::string> all;
  for (const std::string& symbol : symbols) all.push_back(visible_symbol(symbol));
  return all;
}

double strength(double value, double limit) {
  return limit > 0 ? std::sqrt(std::min(std::abs(value) / limit, 1.0)) : 0;
}

HeatMap heat_map(const AttentionMap& map, const MapAxis& queries, const MapAxis& keys) {
  return {map.title, queries, keys, map.weights, std::ssize(keys.symbols)};
}

double cell_within(const HeatMap& map, double width) {
  double columns = static_cast<double>(std::max<int64_t>(1, map.column_count));
  return std::clamp((width - left_room(map, 10) - 4) / columns, 2.0, 20.0);
}

Drawing drawn(const HeatMap& map, double cell) {
  int64_t rows = map.column_count > 0 ? std::ssize(map.values) / map.column_count : 0;
  double width = cell * static_cast<double>(map.column_count),
         height = cell * static_cast<double>(rows);
  double left = left_room(map, cell), top = 4, under = below(map, cell);
  Svg svg;
  svg.add("<metadata>", metadata(map), "</metadata>");
  svg.add("<g transform=\"translate(", left, ' ', top, ")\">");
  svg.add("<g class=\"cells\" transform=\"scale(", cell,
          ") translate(0 0.5)\" shape-rendering=\"crispEdges\">");
  add_cells(svg, map);
  svg.add("</g>\n<rect class=\"frame\" width=\"", width, "\" height=\"", height, "\"/>");
  if (map.memory > 0)
    svg.add("<path class=\"memory\" d=\"M", cell * static_cast<double>(map.memory), " 0v", height,
            "\"/>");
  add_names(svg, map, cell, height);
  if (!map.rows.name.empty())
    svg.words(text("class=\"faint\" text-anchor=\"middle\" transform=\"translate(", 14 - left, ' ',
                   height / 2, ") rotate(-90)\""),
              map.rows.name);
  if (!map.columns.name.empty())
    svg.words(text("class=\"faint\" text-anchor=\"middle\" x=\"", width / 2, "\" y=\"",
                   height + under + 12, '"'),
              map.columns.name);
  svg.add("</g>");
  return {.kind = Drawing::Kind::map,
          .width = std::ceil(left + width + 4),
          .height = std::ceil(top + height + under + (map.columns.name.empty() ? 2 : 18)),
          .title = map.title,
          .content = svg.content,
          .label = text(rows, " by ", map.column_count, " values.")};
}

}  // namespace common
