#include "heat_map.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "fixed.h"
#include "printable.h"

namespace apps {

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
  constexpr double most = 1e6;  // limits; a full colour says no more
  auto thousandths = [&](double value) {
    return map.limit > 0 ? std::lround(std::clamp(value / map.limit, -most, most) * 1000) : 0;
  };
  json values = json::array();
  for (double value : map.values)
    values.push_back(std::isfinite(value) ? json(thousandths(value)) : json());
  json all = {{"values", values},
              {"limit", map.limit},
              {"columns", map.column_count},
              {"row_title", map.rows.name},
              {"column_title", map.columns.name},
              {"row_names", visible_symbols(map.rows.symbols)},
              {"column_names", visible_symbols(map.columns.symbols)}};
  return xml(all.dump(-1, ' ', true, json::error_handler_t::replace));
}

bool is_hidden(double value) { return !std::isfinite(value); }

constexpr int levels = 32;

ColorScale scale_of(const HeatMap& map) {
  bool has_negative = std::ranges::any_of(map.values, [](double value) { return value < 0; });
  return map.is_signed || has_negative ? ColorScale::signed_ : ColorScale::weights;
}

/// The step of its scale that a value is drawn with, of 32 to either side; none where it is hidden.
std::optional<int> level_of(const HeatMap& map, double value) {
  if (is_hidden(value)) return std::nullopt;
  auto level = static_cast<int>(std::lround(strength(value, map.limit) * levels));
  return value < 0 ? -level : level;
}

/// Draws cells of one colour as one path: lines as wide as a row, on a grid of unit cells.
/// Neighbours of one colour share a line.
void add_cells(Svg& svg, const HeatMap& map) {
  std::map<int, std::string> paths;
  std::string hidden, strokes;
  int64_t next = 0;
  for (int64_t n = 0; n < std::ssize(map.values); n = next) {
    std::optional<int> level = level_of(map, map.values[static_cast<size_t>(n)]);
    int64_t row = n / map.column_count, column = n % map.column_count;
    for (next = n + 1; next % map.column_count != 0; ++next)
      if (level_of(map, map.values[static_cast<size_t>(next)]) != level) break;
    (level ? paths[*level] : hidden) += text('M', column, ' ', row, 'h', next - n);
    if (level) continue;
    strokes += text('M', column, ' ', row, ".5l1-1");
    for (int64_t each = n + 1; each < next; ++each) strokes += "m0 1l1-1";
  }
  if (!hidden.empty())
    svg.add("<path class=\"hidden\" d=\"", hidden, "\"/><path class=\"hidden-stroke\" d=\"",
            strokes, "\"/>");
  for (const auto& [level, path] : paths)
    svg.add("<path stroke=\"", color_of(scale_of(map), static_cast<double>(level) / levels),
            "\" data-share=\"", std::round(100.0 * level / levels) / 100, "\" d=\"", path, "\"/>");
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

constexpr double bar_room = 34;

/// Draws a bar of the colours below what has this size, and returns its width. Its numbers stand
/// where the roots of the values do.
double add_bar(Svg& svg, const HeatMap& map, double width, double top) {
  constexpr int steps = 32;
  bool is_signed = scale_of(map) == ColorScale::signed_;
  double length = std::clamp(width, 64.0, 160.0), step = length / steps;
  for (int n = 0; n < steps; ++n) {
    double share = (n + 0.5) / steps;
    svg.add("<rect class=\"bar\" x=\"", n * step, "\" y=\"", top, "\" width=\"", step + 0.5,
            "\" height=\"8\" fill=\"", color_of(scale_of(map), is_signed ? 2 * share - 1 : share),
            "\"/>");
  }
  auto number = [&](double place, double value) {
    svg.words(text("class=\"faint bar-number\" text-anchor=\"middle\" x=\"", place * length,
                   "\" y=\"", top + 20, '"'),
              significant(value, 3));
  };
  number(0, is_signed ? -map.limit : 0);
  number(0.5, is_signed ? 0 : map.limit / 4);
  number(1, map.limit);
  if (std::ranges::none_of(map.values, is_hidden)) return length + 12;
  double x = length + 16;
  add_hidden_swatch(svg, x, top - 1);
  return x + 14 + width_of("hidden", 10);
}

/// The room below, for the names of columns.
double below(const HeatMap& map, double cell) {
  if (map.columns.symbols.empty()) return 4;
  double letter = letter_of(cell);
  return std::ceil(are_upright(map, cell)
                       ? widest_of(visible_symbols(map.columns.symbols), letter) + 8
                       : letter * 1.4);
}

int64_t row_count(const HeatMap& map) {
  return map.column_count > 0 ? std::ssize(map.values) / map.column_count : 0;
}

}  // namespace

void add_hidden_swatch(Svg& svg, double x, double y) {
  svg.add("<g transform=\"translate(", x, ' ', y,
          ") scale(10)\" class=\"swatch\"><path class=\"hidden\" ",
          "d=\"M0 .5h1\"/><path class=\"hidden-stroke\" d=\"M0 1l1 -1\"/></g>");
  svg.words(text("class=\"faint bar-number\" x=\"", x + 14, "\" y=\"", y + 9, '"'), "hidden");
}

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

std::string cells_again(const HeatMap& map, double cell) {
  return text("<svg aria-hidden=\"true\" viewBox=\"0 0 ",
              cell * static_cast<double>(map.column_count), ' ',
              cell * static_cast<double>(row_count(map)), "\"><use href=\"#", map.id, "\"/></svg>");
}

Drawing drawn(const HeatMap& map, double cell) {
  int64_t rows = row_count(map);
  double width = cell * static_cast<double>(map.column_count),
         height = cell * static_cast<double>(rows);
  double left = left_room(map, cell), top = 4, under = below(map, cell);
  Svg svg;
  svg.add("<metadata>", metadata(map), "</metadata>");
  svg.add("<g transform=\"translate(", left, ' ', top, ")\">");
  svg.add("<g class=\"cells\"", map.id.empty() ? "" : attribute("id", map.id),
          " transform=\"scale(", cell, ") translate(0 0.5)\" shape-rendering=\"crispEdges\">");
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
  double bottom = top + height + under + (map.columns.name.empty() ? 2 : 18), widest = width;
  if (map.has_bar) widest = std::max(width, add_bar(svg, map, width, bottom - top + 6));
  svg.add("</g>");
  return {.kind = Drawing::Kind::map,
          .width = std::ceil(left + widest + 4),
          .height = std::ceil(bottom + (map.has_bar ? bar_room : 0)),
          .title = map.title,
          .content = svg.content,
          .label = text(rows, " by ", map.column_count, " values.")};
}

}  // namespace apps
