#include "picture.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <span>

#include "core/io/atomic_file.h"
#include "core/io/read_file.h"
#include "embedded.h"

namespace apps {

using shiftgrad::require;
using shiftgrad::text;

namespace {

constexpr double title_room = 36;

/// The colours of a page, for a file that stands alone.
constexpr const char* colours = R"(
svg { color-scheme: light dark; --paper: #fff; --ink: #1b1d20; --faint: #5a5f66; --line: #d5d8dc; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #16181c; --ink: #e2e4e8; --faint: #a3a9b3; --line: #434955; }
}
)";

struct Size {
  double width = 0, height = 0;
};

/// Adds rows of drawings, and returns the size up to their end.
Size add_rows(Svg& svg, const std::vector<std::vector<Drawing>>& rows) {
  Size end{0, title_room};
  for (const std::vector<Drawing>& row : rows) {
    double x = 0, height = 0;
    if (!row.empty() && !row.front().title.empty()) end.height += 20;
    for (const Drawing& drawing : row) {
      if (!drawing.title.empty())
        svg.words(text("class=\"title\" x=\"", x + 4, "\" y=\"", end.height - 4, '"'),
                  drawing.title);
      svg.add("<g transform=\"translate(", x + drawing.left, ' ', end.height, ")\">");
      svg.add(element(drawing), "</g>");
      x += std::max(drawing.left + drawing.width + drawing.right, width_of(drawing.title, 13)) + 8;
      height = std::max(height, drawing.height);
    }
    end.width = std::max(end.width, x);
    end.height += height + 6;
  }
  return end;
}

/// Returns the whole file.
std::string picture(Size size, const std::string& title, const std::string& description,
                    const Svg& content) {
  size.width = std::ceil(std::max(size.width, width_of(title, 14) + 40));
  size.height = std::ceil(size.height);
  Svg heading;
  heading.words("class=\"title\" x=\"50%\" y=\"22\" text-anchor=\"middle\"", title);
  return text("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"drawn\" width=\"", size.width,
              "\" height=\"", size.height, "\" viewBox=\"0 0 ", size.width, ' ', size.height,
              "\" role=\"img\" aria-labelledby=\"title description\">\n<title id=\"title\">",
              xml(title), "</title>\n<desc id=\"description\">", xml(description),
              "</desc>\n<style>", colours, drawing_style,
              "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", heading.content,
              content.content, "</svg>\n");
}

/// Returns the lines for the legend: those of the chart that has most.
std::vector<Line> named_lines(const std::vector<std::vector<Chart>>& rows) {
  std::vector<Line> most;
  for (const std::vector<Chart>& row : rows)
    for (const Chart& chart : row) {
      std::vector<Line> named;
      std::ranges::copy_if(chart.lines, std::back_inserter(named), &Line::named);
      if (named.size() > most.size()) most = named;
    }
  return most;
}

/// Draws the legend beside what has this size, and returns the size of both.
Size add_legend(Svg& svg, const std::vector<Line>& lines, const std::vector<std::string>& notes,
                Size size) {
  if (lines.empty() && notes.empty()) return size;
  double x = size.width + 4, y = title_room + 18, widest = 0;
  auto add = [&](double indent, const std::string& name, const char* kind) {
    svg.words(text(kind, "x=\"", x + indent, "\" y=\"", y + 4, '"'), name);
    widest = std::max(widest, indent + width_of(name));
    y += 20;
  };
  for (const Line& line : lines) {
    svg.add("<path class=\"key curve ", colour_class(line.colour), "\" d=\"M", x, ' ', y,
            "h22\"/>");
    if (line.style == LineStyle::dotted)
      svg.add("<circle class=\"dot ", colour_class(line.colour), "\" cx=\"", x + 11, "\" cy=\"", y,
              "\" r=\"2.2\"/>");
    add(30, line.name, "");
  }
  for (const std::string& note : notes) add(0, note, "class=\"faint\" ");
  return {x + widest + 16, std::max(size.height, y + 12)};
}

/// Draws the scale of colours from 0 to 1 beside what has this size, and what is hidden if anything
/// is, and returns the size of both.
Size add_scale(Svg& svg, Size size, bool hides) {
  constexpr int steps = 20, step = 7;
  double x = size.width + 8, top = title_room + 24;
  svg.words(text("x=\"", x, "\" y=\"", top - 16, '"'), "weight");
  for (int n = 0; n < steps; ++n)
    svg.add("<rect x=\"", x, "\" y=\"", top + (steps - 1 - n) * step, "\" width=\"14\" height=\"",
            step, "\" fill=\"", color_of(ColorScale::weights, strength((n + 0.5) / steps, 1)),
            "\"/>");
  for (double weight : {0.0, 0.5, 1.0})
    svg.words(text("x=\"", x + 20, "\" y=\"", top + (1 - weight) * steps * step + 4, '"'),
              text(weight));
  if (hides) add_hidden_swatch(svg, x, top + steps * step + 16);
  return {x + 60, std::max(size.height, top + steps * step + 34)};
}

}  // namespace

std::string picture_of_charts(const std::string& title, const std::string& description,
                              const std::vector<std::vector<Chart>>& rows, const ChartSize& size,
                              const std::vector<std::string>& notes) {
  std::vector<std::vector<Drawing>> drawings;
  double left = 0;
  for (const std::vector<Chart>& row : rows) {
    drawings.emplace_back();
    for (const Chart& chart : row) drawings.back().push_back(drawn(chart, size));
    for (const Drawing& drawing : drawings.back()) left = std::max(left, drawing.left);
  }
  for (std::vector<Drawing>& row : drawings)
    for (Drawing& drawing : row) drawing.left = left;  // planes stand below each other
  Svg svg;
  Size charts = add_rows(svg, drawings);
  return picture(add_legend(svg, named_lines(rows), notes, charts), title, description, svg);
}

std::string picture_of_maps(const std::string& title,
                            const std::vector<std::vector<AttentionMap>>& lines,
                            const MapAxis& rows, const MapAxis& columns) {
  size_t longest = std::max({size_t{1}, rows.symbols.size(), columns.symbols.size()});
  auto cell = static_cast<double>(std::clamp<size_t>(480 / longest, 12, 24));
  std::vector<std::vector<Drawing>> drawings;
  for (const std::vector<AttentionMap>& line : lines) {
    drawings.emplace_back();
    for (const AttentionMap& weights : line) {
      HeatMap map = heat_map(weights, rows, columns);
      map.has_bar = false;  // one scale stands beside all of them
      drawings.back().push_back(drawn(map, cell));
    }
  }
  Svg svg;
  Size maps = add_rows(svg, drawings);
  auto hides = [](const AttentionMap& map) {
    return !std::ranges::all_of(map.weights, [](double weight) { return std::isfinite(weight); });
  };
  bool any_hides = std::ranges::any_of(
      lines, [&](const auto& line) { return std::ranges::any_of(line, hides); });
  std::string description =
      text("Each map has a row for each ", rows.name, " and a column for each ", columns.name,
           "; the brighter a cell, the more the row's attends to the column's.");
  return picture(add_scale(svg, maps, any_hides), title, description, svg);
}

void check_picture_path(const std::string& path) {
  shiftgrad::in_name_of("--out " + path, [&] {
    std::error_code error;
    require(!path.empty() && !std::filesystem::is_directory(path, error),
            "expected the name of a file");
    std::filesystem::path parent = std::filesystem::path(path).parent_path();
    std::filesystem::path folder = parent.empty() ? "." : parent;
    std::filesystem::file_status status = std::filesystem::status(folder, error);
    require(status_known(status), error.message());
    require(is_directory(status), "there is no folder ", folder.string());
    shiftgrad::check_system(::access(folder.c_str(), W_OK) == 0, "its folder cannot be written");
  });
}

void write_picture(const std::string& path, const std::string& svg) {
  shiftgrad::write_file_atomically(path, svg);
  std::cout << "wrote " << path << std::endl;
}

}  // namespace apps
