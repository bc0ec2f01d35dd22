// char_lm positions draws what a model has learned about distances.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "command.h"
#include "distance_tables.h"
#include "examples/common/draw_picture.h"
#include "examples/common/flags.h"
#include "examples/common/named_run.h"
#include "examples/common/picture.h"
#include "run_folder.h"

namespace char_lm {

using common::Box;
using common::colour;
using common::folder_of;
using common::gnuplot_string;
using common::Picture;
using shiftgrad::require;

namespace {

struct PositionsFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  std::string out;
};

using Layers = std::vector<std::vector<DistanceTable>>;

std::string why_none(const shiftgrad::LanguageModelConfig& config) {
  if (config.position == shiftgrad::TokenPosition::learned)
    return "its learned positions are absolute";
  if (config.position == shiftgrad::TokenPosition::sinusoid)
    return "its sinusoids are absolute and fixed";
  auto* mixer = std::get_if<shiftgrad::MultiHeadAttentionConfig>(&config.mixer);
  if (mixer && mixer->position == shiftgrad::AttentionPosition::alibi)
    return "ALiBi's slopes are fixed";
  if (mixer && mixer->position == shiftgrad::AttentionPosition::rope)
    return "rotary positions are fixed";
  return "it has no positions";
}

/// Sizes in pixels: a row for each layer, a column for each of its tables.
struct Sheet {
  int columns, rows;

  explicit Sheet(const Layers& layers)
      : columns(static_cast<int>(layers.front().size())), rows(static_cast<int>(layers.size())) {}
  int width() const { return 110 + columns * 495; }
  int height() const { return 50 + rows * 250; }
  Box box(int row, int column) const { return {105 + column * 495, 65 + row * 250, 370, 170}; }
};

int64_t last(const DistanceTable& table) {
  return table.first + std::ssize(table.heads.front()) - 1;
}

/// Sets the ranges around all finite values, with a mark at the longest distance in training.
void set_ranges(Picture& picture, const DistanceTable& table, int64_t trained) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const auto& head : table.heads)
    for (double value : head) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  picture.range("y", low, high);
  picture.add("set xrange [", table.first, ':', std::max(table.first + 1, last(table)), "]");
  picture.add("unset arrow");
  if (trained < last(table))
    picture.add("set arrow from ", trained, ", graph 0 to ", trained,
                ", graph 1 nohead dashtype 2 linecolor 'gray40'");
}

/// Adds the lines of one table. Only one of the panels names them.
void add_lines(Picture& picture, const DistanceTable& table, bool named) {
  std::string plots;
  for (size_t h = 0; h < table.heads.size(); ++h) {
    const std::vector<double>& values = table.heads[h];
    std::string data = shiftgrad::text("$head", h);
    picture.add(data, " << END");
    for (size_t n = 0; n < values.size(); ++n)
      picture.add(table.first + static_cast<int64_t>(n), ' ', values[n]);
    picture.add("END");
    std::string name = table.heads.size() > 1 ? shiftgrad::text("head ", h) : "shared";
    plots +=
        shiftgrad::text(plots.empty() ? "plot " : ", ", data, " with ",
                        values.size() <= 40 ? "linespoints pointtype 7 pointsize 0.3" : "lines",
                        " linewidth 1.5 dashtype ", h / 8 + 1, " linecolor ", colour(h),
                        named ? " title '" + name + "'" : " notitle");
  }
  picture.add(plots);
}

Picture picture_of(const std::string& path, const std::string& title, const Layers& layers,
                   int64_t trained) {
  Sheet sheet(layers);
  Picture picture(path, sheet.width(), sheet.height());
  picture.add("set grid linecolor 'gray85'\nset tics nomirror\nset format y '%.3g'");
  picture.add("set title offset 0, -0.5");
  picture.add("set key at screen 0.99, screen ", 1 - 60.0 / sheet.height(),
              " right top Left reverse samplen 2");
  picture.add("set label ", gnuplot_string(title), " at screen 0.5, screen ",
              1 - 16.0 / sheet.height(), " center");
  std::string xlabel = "distance δ, characters";
  if (trained < last(layers.front().front())) xlabel += " (dashed: the longest in training)";
  picture.add("set multiplot");
  for (int layer = 0; layer < sheet.rows; ++layer)
    for (int column = 0; column < sheet.columns; ++column) {
      const DistanceTable& table = layers[layer][column];
      picture.place(sheet.box(layer, column));
      picture.add("set title 'layer ", layer, "'\nset ylabel ", gnuplot_string(table.title));
      picture.add("set xlabel '", layer == sheet.rows - 1 ? xlabel : "", "'");
      set_ranges(picture, table, trained);
      add_lines(picture, table, layer == 0 && column == sheet.columns - 1);
      picture.add("unset label");
    }
  picture.add("unset multiplot");
  return picture;
}

Command::Work prepare(const PositionsFlags& flags) {
  constexpr int64_t most = 65536;
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  shiftgrad::LanguageModel model = make_model(run.checkpoint, run.source);
  int64_t seen = run.flags.model.block_size + memory_length(run.flags.model);
  require(seen <= most, run.source, ": ", seen, " distances in training, expected at most ", most);
  Layers layers = distance_tables(model, seen);
  require(!layers.empty(), run.source,
          ": nothing learned about distances: ", why_none(run.checkpoint.model));
  std::string out = flags.out.empty() ? folder_of(flags.out_dir) + "/positions.svg" : flags.out;
  std::string title = "learned about distances by " + run.source;
  return [picture = picture_of(out, title, layers, seen - 1), out] { draw(picture, out); };
}

}  // namespace

Command positions_command(CLI::App& program) {
  CLI::App& app =
      add_command(program, "positions",
                  "Draw what a model has learned about distances: biases and norms of embeddings, "
                  "for each layer and head; a dashed line marks the longest distance in training");
  auto flags = std::make_shared<PositionsFlags>();
  set_required(
      add_argument(app, "OUT_DIR", flags->out_dir, "folder of the training run, or a file in it"));
  add_flag(app, "checkpoint", flags->checkpoint, "best|last", "checkpoint to read");
  add_flag(app, "out", flags->out, "FILE", "SVG file to write (default: OUT_DIR/positions.svg)");
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
