// char_lm plot draws the loss curves of several runs.

#include <algorithm>
#include <memory>
#include <numbers>

#include "command.h"
#include "examples/common/draw_picture.h"
#include "examples/common/flags.h"
#include "examples/common/picture.h"
#include "loss_curve.h"
#include "run_folder.h"

namespace char_lm {

using common::colour;
using common::gnuplot_string;
using common::Picture;

namespace {

struct PlotFlags {
  std::vector<std::string> runs;
  std::string out = "loss.svg";
};

std::string data_name(const char* kind, size_t run) { return shiftgrad::text('$', kind, run); }

void add_data(Picture& picture, const std::string& name, const std::vector<LossPoint>& points) {
  picture.add(name, " << END");
  for (auto [step, loss] : points) picture.add(step, ' ', loss);
  picture.add("END");
}

/// Draws the loss of each batch thin and pale, and that of the validation text on top.
void add_curves(Picture& picture, const std::vector<LossCurve>& curves,
                const std::vector<std::string>& names) {
  std::string plots =
      "plot NaN with lines linewidth 0.7 linecolor 'gray40' title 'pale: each batch', "
      "NaN with linespoints pointtype 7 pointsize 0.35 linewidth 2 linecolor 'gray40' "
      "title 'on top: validation'";
  for (size_t n = 0; n < curves.size(); ++n) {
    if (curves[n].batches.empty()) continue;
    add_data(picture, data_name("batches", n), curves[n].batches);
    plots += shiftgrad::text(", ", data_name("batches", n), " with lines linewidth 0.7 linecolor ",
                             colour(n, 65), " notitle");
  }
  for (size_t n = 0; n < curves.size(); ++n) {
    const std::vector<LossPoint>& points = curves[n].validation;
    if (!points.empty()) add_data(picture, data_name("validation", n), points);
    plots +=
        shiftgrad::text(", ", points.empty() ? "NaN" : data_name("validation", n),
                        " with linespoints pointtype 7 pointsize 0.35 linewidth 2 dashtype ",
                        n / 8 + 1, " linecolor ", colour(n), " title ", gnuplot_string(names[n]));
  }
  picture.add(plots);
}

/// Sets the ranges of the axes around all points.
void set_ranges(Picture& picture, const std::vector<LossCurve>& curves) {
  std::vector<double> losses;
  double last = 1;
  for (const LossCurve& curve : curves)
    for (const auto* points : {&curve.batches, &curve.validation})
      for (auto [step, loss] : *points) {
        losses.push_back(loss);
        last = std::max(last, step);
      }
  picture.add("set xrange [0:", last, "]");
  auto [low, high] = std::ranges::minmax(losses);
  picture.range("y", low, high);
  picture.range("y2", low / std::numbers::ln2, high / std::numbers::ln2);
}

Picture picture_of(const PlotFlags& flags) {
  std::vector<LossCurve> curves;
  for (const std::string& run : flags.runs) curves.push_back(read_loss_curve(run));
  std::vector<std::string> titles = run_names(flags.runs);
  auto longer = [](const std::string& a, const std::string& b) { return a.size() < b.size(); };
  int legend = 90 + 8 * static_cast<int>(std::ranges::max(titles, longer).size());
  Picture picture(flags.out, 780 + legend, std::max<int>(480, 60 + 20 * std::ssize(titles)));
  picture.add("set xlabel 'step'\nset ylabel 'nats per character'");
  picture.add("set y2label 'bits per character'\nset y2tics\nset ytics nomirror");
  picture.add("set grid xtics ytics linecolor 'gray85'\nset tics nomirror");
  set_ranges(picture, curves);
  picture.add("set key outside right top Left reverse");
  add_curves(picture, curves, titles);
  return picture;
}

}  // namespace

Command plot_command(CLI::App& program) {
  CLI::App& app = add_command(program, "plot", "Draw the loss curves of training runs");
  auto flags = std::make_shared<PlotFlags>();
  set_required(add_argument(app, "RUN", flags->runs, "folders of training runs, or files in them"));
  add_flag(app, "out", flags->out, "FILE", "SVG file to write");
  return {&app, [flags]() -> Command::Work {
            return [picture = picture_of(*flags), out = flags->out] { draw(picture, out); };
          }};
}

}  // namespace char_lm
