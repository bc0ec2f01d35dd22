// char_lm attention: what each character of a text looks at, layer by layer and head by head.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "attention_maps.h"
#include "command.h"
#include "flags.h"
#include "picture.h"
#include "run_folder.h"

namespace char_lm {

using shiftgrad::require;

namespace {

struct AttentionFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  std::string text;
  std::optional<int64_t> layer, head;
  std::string out;
};

/// A map with the numbers that the model knows it by.
struct Panel {
  int64_t layer;
  AttentionMap map;
};
/// A row of panels for each layer.
using Panels = std::vector<std::vector<Panel>>;

/// What a tick says in place of a character.
std::string shown(const std::string& character) {
  if (character == " ") return "␣";
  if (character == "\n") return "↵";
  if (character == "\t") return "⇥";
  if (character == "%") return "%%";  // gnuplot reads a tick as a format
  auto first = static_cast<unsigned char>(character.front());
  if (character.size() > 1 || (first > 0x20 && first < 0x7F)) return character;
  char digits[4];
  std::snprintf(digits, sizeof digits, "%02X", first);
  return digits;
}

/// gnuplot's list of the characters where they stand.
std::string ticks(const std::vector<std::string>& characters) {
  std::string list;
  for (size_t n = 0; n < characters.size(); ++n)
    list += shiftgrad::text(n > 0 ? ", " : "(", gnuplot_string(shown(characters[n])), ' ', n);
  return list + ')';
}

/// Sizes in pixels: square cells that leave room for a character each.
struct Sheet {
  int columns, rows, cell, side;

  Sheet(const Panels& panels, int characters)
      : columns(static_cast<int>(panels.front().size())),
        rows(static_cast<int>(panels.size())),
        cell(std::clamp(480 / characters, 12, 24)),
        side(cell * characters) {}
  int width() const { return std::max(480, 70 + columns * (side + 50) + 60); }
  int height() const { return 45 + rows * (side + 75); }
  Box box(int row, int column) const {
    return {70 + column * (side + 50), 65 + row * (side + 75), side, side};
  }
};

void set_axes(Picture& picture, const std::vector<std::string>& characters, const Sheet& sheet) {
  std::string list = ticks(characters);
  int font = sheet.cell * 3 / 4;
  picture.add("set xtics ", list, " scale 0 font ',", font, "' textcolor 'black' offset 0, 0.4");
  picture.add("set ytics ", list, " scale 0 font ',", font, "' textcolor 'black' offset 0.4, 0");
  picture.add("set xrange [-0.5:", characters.size(), " - 0.5]");
  picture.add("set yrange [", characters.size(), " - 0.5:-0.5]");
  picture.add("set border linecolor 'gray60'\nset title offset 0, -0.5");
}

/// One scale of colours for all panels, beside the last of the first row.
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

/// Cells that are drawn one by one stay sharp wherever the picture goes, those of an image are
/// blurred by most programs. What would be white is left out.
void add_map(Picture& picture, const std::vector<double>& weights, size_t T) {
  picture.add("$map << END");
  for (size_t query = 0; query < T; ++query)
    for (size_t key = 0; key < T; ++key)
      if (double weight = weights[query * T + key]; weight > 0.001)
        picture.add(key, ' ', query, ' ', weight);
  picture.add("END\nplot $map using 1:2:(0.5):(0.5):3 with boxxyerror fillstyle solid noborder ",
              "linecolor palette notitle\nunset colorbox");
}

Picture picture_of(const std::string& path, const std::string& title, const Panels& panels,
                   const std::vector<std::string>& characters) {
  Sheet sheet(panels, static_cast<int>(characters.size()));
  Picture picture(path, sheet.width(), sheet.height());
  set_axes(picture, characters, sheet);
  set_colours(picture, sheet);
  picture.add("set label ", gnuplot_string(title), " at screen 0.5, screen ",
              1 - 16.0 / sheet.height(), " center");
  picture.add("set multiplot");
  for (int row = 0; row < sheet.rows; ++row)
    for (int column = 0; column < sheet.columns; ++column) {
      const Panel& panel = panels[row][column];
      picture.place(sheet.box(row, column));
      picture.add("set title 'layer ", panel.layer, ", ", panel.map.title, "'");
      picture.add("set ylabel '", column == 0 ? "query" : "", "' offset 0.3, 0");
      picture.add("set xlabel '", row == sheet.rows - 1 ? "key" : "", "'");
      add_map(picture, panel.map.weights, characters.size());
      picture.add("unset label");
    }
  picture.add("unset multiplot");
  return picture;
}

/// The index alone where it is given, else all there are.
std::vector<int64_t> chosen(const char* flag, const std::optional<int64_t>& index, int64_t count) {
  require(!index || (0 <= *index && *index < count), flag, ' ', index.value_or(0),
          ", expected 0 to ", count - 1);
  if (index) return {*index};
  std::vector<int64_t> all;
  for (int64_t n = 0; n < count; ++n) all.push_back(n);
  return all;
}

Panels chosen_panels(const AttentionFlags& flags,
                     const std::vector<std::vector<AttentionMap>>& layers) {
  Panels panels;
  for (int64_t layer : chosen("--layer", flags.layer, std::ssize(layers))) {
    panels.emplace_back();
    for (int64_t head : chosen("--head", flags.head, std::ssize(layers[layer])))
      panels.back().push_back({layer, layers[layer][head]});
  }
  return panels;
}

Command::Work prepare(const AttentionFlags& flags) {
  constexpr int64_t most = 100;
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  shiftgrad::LanguageModel model = make_model(run.checkpoint, run.source);
  std::vector<int32_t> text = run.vocabulary.encode(flags.text, "--text");
  int64_t longest = std::min(most, model.most_keys());
  require(2 <= text.size() && std::ssize(text) <= longest, "--text of ", text.size(),
          " characters, expected 2 to ", longest);
  std::vector<std::vector<AttentionMap>> layers = attention_maps(model, text);
  require(!layers.empty(), run.source, ": the model has no attention");
  std::vector<std::string> characters;
  for (int32_t token : text) characters.emplace_back() += run.vocabulary.decode(token);
  std::string out = flags.out.empty() ? flags.out_dir + "/attention.svg" : flags.out;
  return [picture = picture_of(out, "attention weights of " + run.source,
                               chosen_panels(flags, layers), characters)] { picture.draw(); };
}

}  // namespace

Command attention_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "attention",
      "Draws what each character of a text looks at, for each layer and head; of an attention free "
      "transformer the weights that its sums amount to, their mean over the channels");
  auto flags = std::make_shared<AttentionFlags>();
  app->add_option("OUT_DIR", flags->out_dir, "folder of the training run")->required();
  add_flag(*app, "checkpoint", flags->checkpoint, "best|last", "which of its checkpoints");
  add_flag(*app, "text", flags->text, "TEXT",
           "2 to 100 characters that the model reads, nothing before them")
      ->required();
  add_flag(*app, "layer", flags->layer, "NUMBER", "the only one drawn, from 0 (default: all)");
  add_flag(*app, "head", flags->head, "NUMBER", "the only one drawn, from 0 (default: all)");
  add_flag(*app, "out", flags->out, "FILE", "SVG to draw (default: OUT_DIR/attention.svg)");
  return {app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
