// seq2seq attention: which tokens of the source each token of a target was made from.

#include <algorithm>
#include <memory>

#include "command.h"
#include "core/errors.h"
#include "decoding.h"
#include "examples/char_lm/flags.h"
#include "examples/char_lm/picture.h"

namespace seq2seq {

using char_lm::gnuplot_string;
using shiftgrad::require;
using shiftgrad::Tensor;
using shiftgrad::text;

namespace {

struct AttentionFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  std::string source, target;
  bool heads = false;
  std::string out;
  DecodingFlags decoding{};
};

/// Row i has the weights of the source's S tokens from which target token i was made.
struct Map {
  std::string title;
  std::vector<double> weights;  // [T, S]
};
/// A row of maps for each block.
using Maps = std::vector<std::vector<Map>>;

/// The mean over a part of the heads of [1, H, T, S].
std::vector<double> mean_of_heads(const Tensor& weights, int64_t begin, int64_t end) {
  std::vector<shiftgrad::Scalar> values = weights.values();
  int64_t size = weights.size(2) * weights.size(3);
  std::vector<double> mean(static_cast<size_t>(size));
  for (int64_t h = begin; h < end; ++h)
    for (int64_t n = 0; n < size; ++n)
      mean[static_cast<size_t>(n)] +=
          static_cast<double>(values[static_cast<size_t>(h * size + n)]) /
          static_cast<double>(end - begin);
  return mean;
}

Maps alignments(const shiftgrad::EncoderDecoder& model, const std::vector<int32_t>& source,
                const std::vector<int32_t>& target, bool by_head) {
  std::vector<int32_t> inputs = {target_ends.begin};
  inputs.insert(inputs.end(), target.begin(), target.end());
  Maps maps;
  shiftgrad::Context context;
  shiftgrad::Encoded encoded = model.encode(shiftgrad::padded({source}), context);
  model.decode(shiftgrad::padded({inputs}), encoded, context, [&](const Tensor& weights) {
    std::vector<Map>& row = maps.emplace_back();
    std::string block = text("block ", maps.size() - 1);
    int64_t heads = weights.size(1);
    for (int64_t h = 0; by_head && h < heads; ++h)
      row.push_back({text(block, ", head ", h), mean_of_heads(weights, h, h + 1)});
    if (!by_head)
      row.push_back({text(block, ", mean of ", heads, " heads"), mean_of_heads(weights, 0, heads)});
  });
  return maps;
}

/// gnuplot's list of the symbols where they stand.
std::string ticks(const std::vector<std::string>& symbols) {
  std::string list;
  for (size_t n = 0; n < symbols.size(); ++n) {
    std::string shown = symbols[n] == " " ? "␣" : symbols[n] == "%" ? "%%" : symbols[n];
    list += text(n > 0 ? ", " : "(", gnuplot_string(shown), ' ', n);
  }
  return list + ')';
}

/// Sizes in pixels: square cells that leave room for a symbol each.
struct Sheet {
  int columns, rows, width_of_map, height_of_map;

  Sheet(const Maps& maps, int S, int T)
      : columns(static_cast<int>(maps.front().size())), rows(static_cast<int>(maps.size())) {
    int cell = std::clamp(480 / std::max(S, T), 14, 26);
    width_of_map = cell * S;
    height_of_map = cell * T;
  }
  int width() const { return 80 + columns * (width_of_map + 70) + 40; }
  int height() const { return 40 + rows * (height_of_map + 75); }

  /// The margins of a map, as gnuplot wants them.
  std::string margins(int row, int column) const {
    double left = 80 + column * (width_of_map + 70), top = 65 + row * (height_of_map + 75);
    double w = width(), h = height();
    return text("set lmargin at screen ", left / w, "\nset rmargin at screen ",
                (left + width_of_map) / w, "\nset tmargin at screen ", 1 - top / h,
                "\nset bmargin at screen ", 1 - (top + height_of_map) / h);
  }
};

/// Cells that are drawn one by one stay sharp wherever the picture goes. What would be white is
/// left out.
void add_map(char_lm::Picture& picture, const std::vector<double>& weights, size_t S) {
  picture.add("$map << END");
  for (size_t n = 0; n < weights.size(); ++n)
    if (weights[n] > 0.001) picture.add(n % S, ' ', n / S, ' ', weights[n]);
  picture.add("END\nplot $map using 1:2:(0.5):(0.5):3 with boxxyerror fillstyle solid noborder ",
              "linecolor palette notitle");
}

char_lm::Picture picture_of(const std::string& path, const Maps& maps,
                            const std::vector<std::string>& source,
                            const std::vector<std::string>& target) {
  Sheet sheet(maps, static_cast<int>(source.size()), static_cast<int>(target.size()));
  char_lm::Picture picture(path, sheet.width(), sheet.height());
  picture.add("set xtics ", ticks(source), " scale 0\nset ytics ", ticks(target), " scale 0");
  picture.add("set xrange [-0.5:", source.size(), " - 0.5]\nset yrange [", target.size(),
              " - 0.5:-0.5]");
  picture.add("set palette defined (0 '#FFFFFF', 0.05 '#C6DBEF', 0.2 '#6BAED6', 0.5 '#2171B5', ",
              "1 '#08306B')\nset cbrange [0:1]\nunset colorbox\nset border linecolor 'gray60'");
  picture.add("set multiplot");
  for (int row = 0; row < sheet.rows; ++row)
    for (int column = 0; column < sheet.columns; ++column) {
      const Map& map = maps[static_cast<size_t>(row)][static_cast<size_t>(column)];
      picture.add(sheet.margins(row, column));
      picture.add("set title ", gnuplot_string(map.title));
      picture.add("set xlabel '", row == sheet.rows - 1 ? "source" : "", "'");
      picture.add("set ylabel '", column == 0 ? "target" : "", "'");
      add_map(picture, map.weights, source.size());
    }
  picture.add("unset multiplot");
  return picture;
}

/// The tokens of --source or --target.
std::vector<int32_t> tokens_of(const char* flag, const std::string& line, const Symbols& symbols,
                               int64_t longest) {
  Line read = read_line(line, symbols, longest);
  require(!read.error, flag, ": ", read.error.value_or(""));
  return read.tokens;
}

Command::Work prepare(const AttentionFlags& flags) {
  constexpr int64_t most = 100;
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  Translator translator(run, flags.decoding);
  int64_t longest = std::min(most, run.flags.model.max_len);
  std::vector<int32_t> source = tokens_of("--source", flags.source, run.source_symbols, longest);
  std::string target =
      flags.target.empty() ? translator.translate({source}, 0).front() : flags.target;
  require(!target.empty(), "--source ", flags.source, ": has an empty target, expected --target");
  std::vector<int32_t> tokens = tokens_of("--target", target, run.target_symbols, longest - 1);
  std::vector<std::string> columns = split(flags.source, run.source_symbols.unit());
  std::vector<std::string> rows = split(target, run.target_symbols.unit());
  rows.push_back("end");
  std::string out = flags.out.empty() ? flags.out_dir + "/attention.svg" : flags.out;
  Maps maps = alignments(translator.model(), source, tokens, flags.heads);
  return [picture = picture_of(out, maps, columns, rows)] { picture.draw(); };
}

}  // namespace

Command attention_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "attention", "Draws which tokens of a source each token of its target was made from");
  auto flags = std::make_shared<AttentionFlags>();
  using char_lm::add_flag;
  app->add_option("OUT_DIR", flags->out_dir, "folder of the training run")->required();
  add_flag(*app, "checkpoint", flags->checkpoint, "NAME", "best or last");
  add_flag(*app, "source", flags->source, "LINE", "what is read, 1 to 100 tokens")->required();
  add_flag(*app, "target", flags->target, "LINE",
           "what is written (default: what the model writes)");
  app->add_flag("--heads", flags->heads, "a map for each head, not their mean");
  add_flag(*app, "out", flags->out, "FILE", "SVG to draw (default: OUT_DIR/attention.svg)");
  return {app, [flags] { return prepare(*flags); }};
}

}  // namespace seq2seq
