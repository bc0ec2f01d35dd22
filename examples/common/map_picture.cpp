#include "map_picture.h"

#include <algorithm>
#include <cstdio>

namespace common {

namespace {

using Lines = std::vector<std::vector<MapPanel>>;

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

/// Returns a tick's text for gnuplot, which reads it as a format, so a percent sign is written
/// twice.
std::string tick(const std::string& text) {
  std::string format;
  for (char character : text) format += std::string(character == '%' ? 2 : 1, character);
  return gnuplot_string(format);
}

/// Returns gnuplot's list of the symbols and their places.
std::string ticks(const std::vector<std::string>& symbols) {
  std::string list;
  for (size_t n = 0; n < symbols.size(); ++n)
    list += shiftgrad::text(n > 0 ? ", " : "(", tick(shown(symbols[n])), ' ', n);
  return list + ')';
}

/// Sizes in pixels.
struct Sheet {
  int columns, rows, cell, panel_width, panel_height;

  Sheet(const Lines& lines, size_t symbols_across, size_t symbols_down)
      : columns(static_cast<int>(lines.front().size())),
        rows(static_cast<int>(lines.size())),
        cell(std::clamp(480 / static_cast<int>(std::max(symbols_across, symbols_down)), 12, 24)),
        panel_width(cell * static_cast<int>(symbols_across)),
        panel_height(cell * static_cast<int>(symbols_down)) {}
  int width() const { return std::max(480, 70 + columns * (panel_width + 50) + 60); }
  int height() const { return 45 + rows * (panel_height + 75); }
  Box box(int row, int column) const {
    return {70 + column * (panel_width + 50), 65 + row * (panel_height + 75), panel_width,
            panel_height};
  }
};

void set_axes(Picture& picture, const MapAxis& rows, const MapAxis& columns, const Sheet& sheet) {
  auto ticks_of = [&](const char* axis, const MapAxis& symbols, const char* offset) {
    picture.add("set ", axis, "tics ", ticks(symbols.symbols), " scale 0 font ',",
                sheet.cell * 3 / 4, "' textcolor 'black' offset ", offset);
  };
  ticks_of("x", columns, "0, 0.4");
  ticks_of("y", rows, "0.4, 0");
  picture.add("set xrange [-0.5:", columns.symbols.size(), " - 0.5]");
  picture.add("set yrange [", rows.symbols.size(), " - 0.5:-0.5]");
  picture.add("set border linecolor 'gray60'\nset title offset 0, -0.5");
}

/// Sets one colour scale for all panels, beside the last panel of the first line.
void set_colours(Picture& picture, const Sheet& sheet) {
  picture.add(
      "set palette defined (0 '#FFFFFF', 0.05 '#C6DBEF', 0.2 '#6BAED6', 0.5 '#2171B5', ",
      "1 '#08306B')\nset cbrange [0:1]\nset cbtics textcolor 'black'\nset cblabel 'weight'");
  Box box = sheet.box(0, sheet.columns - 1);
  double height = sheet.height(), width = sheet.width();
  picture.add("set colorbox user origin screen ", (box.left + box.width + 15) / width, ", ",
              1 - (box.top + box.height) / height, " size screen ", 14 / width, ", ",
              box.height / height);
}

/// Draws the cells one by one, so that they stay sharp in every program; most programs blur those
/// of an image. White cells are left out.
void add_map(Picture& picture, const std::vector<double>& weights, size_t columns) {
  picture.add("$map << END");
  for (size_t n = 0; n < weights.size(); ++n)
    if (weights[n] > 0.001) picture.add(n % columns, ' ', n / columns, ' ', weights[n]);
  picture.add("END\nplot $map using 1:2:(0.5):(0.5):3 with boxxyerror fillstyle solid noborder ",
              "linecolor palette notitle\nunset colorbox");
}

}  // namespace

Picture picture_of_maps(const std::string& path, const std::string& title, const Lines& lines,
                        const MapAxis& rows, const MapAxis& columns) {
  Sheet sheet(lines, columns.symbols.size(), rows.symbols.size());
  Picture picture(path, sheet.width(), sheet.height());
  set_axes(picture, rows, columns, sheet);
  set_colours(picture, sheet);
  picture.add("set label ", gnuplot_string(title), " at screen 0.5, screen ",
              1 - 16.0 / sheet.height(), " center");
  picture.add("set multiplot");
  for (int row = 0; row < sheet.rows; ++row)
    for (int column = 0; column < sheet.columns; ++column) {
      const MapPanel& panel = lines[row][column];
      picture.place(sheet.box(row, column));
      picture.add("set title ", gnuplot_string(panel.title));
      picture.add("set ylabel '", column == 0 ? rows.name : "", "' offset 0.3, 0");
      picture.add("set xlabel '", row == sheet.rows - 1 ? columns.name : "", "'");
      add_map(picture, panel.weights, columns.symbols.size());
      picture.add("unset label");
    }
  picture.add("unset multiplot");
  return picture;
}

}  // namespace common
