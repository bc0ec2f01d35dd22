// char_lm plot draws the loss curves of several runs.

#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>

#include "command.h"
#include "examples/apps/draw/json_text.h"
#include "examples/apps/draw/picture.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/runs/run_course.h"
#include "figures.h"
#include "run_folder.h"

namespace char_lm {

using apps::line_of;
using apps::LineStyle;
using apps::read_course;
using apps::RunCourse;

namespace {

struct PlotFlags {
  std::vector<std::string> runs;
  std::string out = "loss.svg";
  bool json = false;
};

/// Returns a chart with the loss of each batch thin and pale, and that of the validation text on
/// top.
apps::Chart chart_of(const std::vector<RunCourse>& curves, const std::vector<std::string>& names) {
  apps::Chart chart{.x = {.title = "step", .low = 0, .high = 1},
                    .y = {.title = "nats per character", .room = 0.05},
                    .right = {{"bits per character", 1 / std::numbers::ln2}}};
  for (size_t n = 0; n < curves.size(); ++n)
    chart.lines.push_back(
        line_of(names[n], curves[n].batches, LineStyle::pale, n, curves[n].batches.size()));
  for (size_t n = 0; n < curves.size(); ++n)
    chart.lines.push_back(
        line_of(names[n], curves[n].validation, LineStyle::dotted, n, curves[n].validation.size()));
  return chart;
}

std::string picture_of(const std::vector<RunCourse>& curves,
                       const std::vector<std::string>& names) {
  apps::Chart chart = chart_of(curves, names);
  return apps::picture_of_charts("Loss", "The loss by the number of steps. " + sentence_of(chart),
                                 {{chart}}, {}, {"pale: each batch", "on top: validation"});
}

Command::Work prepare(const PlotFlags& flags) {
  std::vector<RunCourse> curves;
  for (const std::string& run : flags.runs) curves.push_back(read_course(run));
  std::vector<std::string> names = run_names(flags.runs);
  if (flags.json) return [figure = loss_figure(names, curves)] { apps::print_json(figure); };
  apps::check_picture_path(flags.out);
  return [=, out = flags.out] { apps::write_picture(out, picture_of(curves, names)); };
}

}  // namespace

Command plot_command(CLI::App& program) {
  CLI::App& app = add_command(program, "plot", "Draw the loss curves of training runs");
  auto flags = std::make_shared<PlotFlags>();
  set_required(add_argument(app, "RUN", flags->runs, "folders of training runs, or files in them"));
  add_picture_flags(app, flags->out, flags->json);
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
