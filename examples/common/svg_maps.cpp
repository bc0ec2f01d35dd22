#include "svg_maps.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "svg.h"

namespace common {

using shiftgrad::text;

namespace {

/// Returns the text of a tick for a symbol.
std::string shown(const std::string& symbol) {
  if (symbol == " ") return "␣";
  if (symbol == "\n") return "↵";
  if (symbol == "\t") return "⇥";
  auto first = static_cast<unsigned char>(symbol.front());
  if (symbol.size() > 1 || (first > 0x20 && first < 0x7F)) return symbol;
  char digits[4];
  std::snprintf(digits, sizeof digits, "%02X", first);
  return digits;
}

/// The opacity of a weight. Small weights are many and matter together, so they are seen too.
double opacity(double weight) { return std::sqrt(weight); }

/// Sizes in pixels.
struct Sheet {
  double cell, panel_width, panel_height, left;

  Sheet(const MapAxis& rows, const MapAxis& columns) {
    size_t longest = std::max(rows.symbols.size(), columns.symbols.size());
    cell = static_cast<double>(std::clamp<size_t>(480 / longest, 12, 24));
    panel_width = cell * static_cast<double>(columns.symbols.size());
    panel_height = cell * static_cast<double>(rows.symbols.size());
    double widest = 0;
    for (const std::string& symbol : rows.symbols)
      widest = std::max(widest, width_of(shown(symbol), cell * 0.75));
    left = std::ceil(widest) + 34;
  }
  Box box(size_t row, size_t column) const {
    return {left + static_cast<double>(column) * (panel_width + left),
            Svg::title_room + 24 + static_cast<double>(row) * (panel_height + 76), panel_width,
            panel_height};
  }
};

/// Draws the cells of each weight, to two digits, as one path. White cells are left out.
void add_cells(Svg& svg, const AttentionMap& map, size_t columns, const Box& box, double cell) {
  std::map<std::string, std::string> paths;
  for (size_t n = 0; n < map.weights.size(); ++n) {
    if (!(map.weights[n] > 0.001)) continue;
    char share[16];
    std::snprintf(share, sizeof share, "%.2g", opacity(map.weights[n]));
    paths[share] += text('M', box.left + static_cast<double>(n % columns) * cell, ' ',
                         box.top + static_cast<double>(n / columns) * cell, 'h', cell, 'v', cell,
                         'h', -cell, 'z');
  }
  for (const auto& [share, path] : paths)
    svg.add("<path class=\"cell\" opacity=\"", share, "\" d=\"", path, "\"/>");
}

void add_symbols(Svg& svg, const MapAxis& rows, const MapAxis& columns, const Box& box,
                 double cell) {
  std::string size = text("style=\"font-size:", cell * 0.75, "px\" text-anchor=");
  for (size_t n = 0; n < columns.symbols.size(); ++n)
    svg.words({box.left + (static_cast<double>(n) + 0.5) * cell, box.bottom() + cell * 0.85},
              shown(columns.symbols[n]), size + "\"middle\"");
  for (size_t n = 0; n < rows.symbols.size(); ++n)
    svg.words({box.left - 5, box.top + (static_cast<double>(n) + 0.76) * cell},
              shown(rows.symbols[n]), size + "\"end\"");
}

void add_panel(Svg& svg, const AttentionMap& map, const MapAxis& rows, const MapAxis& columns,
               const Box& box, double cell) {
  add_cells(svg, map, columns.symbols.size(), box, cell);
  svg.add("<rect class=\"frame\" x=\"", box.left, "\" y=\"", box.top, "\" width=\"", box.width,
          "\" height=\"", box.height, "\"/>");
  svg.words({box.left + box.width / 2, box.top - 8}, map.title, "text-anchor=\"middle\"");
  add_symbols(svg, rows, columns, box, cell);
}

/// Draws the scale of colours, and returns where it ends on the right.
double add_scale(Svg& svg, const Place& top) {
  constexpr int steps = 20, step = 7;
  svg.words({top.x, top.y - 16}, "weight");
  for (int n = 0; n < steps; ++n)
    svg.add("<rect class=\"cell\" x=\"", top.x, "\" y=\"", top.y + (steps - 1 - n) * step,
            "\" width=\"14\" height=\"", step, "\" opacity=\"", opacity((n + 0.5) / steps), "\"/>");
  for (double weight : {0.0, 0.5, 1.0})
    svg.words({top.x + 20, top.y + (1 - weight) * steps * step + 4}, text(weight));
  return top.x + 52;
}

}  // namespace

std::string picture_of_maps(const std::string& title,
                            const std::vector<std::vector<AttentionMap>>& lines,
                            const MapAxis& rows, const MapAxis& columns) {
  Sheet sheet(rows, columns);
  Svg svg;
  for (size_t row = 0; row < lines.size(); ++row)
    for (size_t column = 0; column < lines[row].size(); ++column) {
      Box box = sheet.box(row, column);
      add_panel(svg, lines[row][column], rows, columns, box, sheet.cell);
      if (column == 0) {
        Place beside{14, box.top + box.height / 2};
        svg.words(
            beside, rows.name,
            text("text-anchor=\"middle\" transform=\"rotate(-90 ", beside.x, ' ', beside.y, ")\""));
      }
      if (row + 1 == lines.size())
        svg.words({box.left + box.width / 2, box.bottom() + sheet.cell + 20}, columns.name,
                  "text-anchor=\"middle\"");
    }
  Box last = sheet.box(0, lines.front().size() - 1);
  double end = add_scale(svg, {last.right() + 24, last.top});
  double width = std::max(end, width_of(title, 14) + 40);
  double height =
      std::max(sheet.box(lines.size() - 1, 0).bottom() + sheet.cell + 32, Svg::title_room + 190);
  std::string description =
      text("Each map has a row for each ", rows.name, " and a column for each ", columns.name,
           "; the darker a cell, the more the row's attends to the column's.");
  return svg.str(std::ceil(width), std::ceil(height), title, description);
}

}  // namespace common
