// char_lm positions draws what a model has learned about distances.

#include <memory>
#include <nlohmann/json.hpp>

#include "charts.h"
#include "command.h"
#include "distance_tables.h"
#include "examples/apps/draw/json_text.h"
#include "examples/apps/draw/picture.h"
#include "examples/apps/flags/flags.h"
#include "examples/apps/runs/named_run.h"
#include "figures.h"
#include "run_folder.h"

namespace char_lm {

using apps::Chart;
using shiftgrad::require;

namespace {

struct PositionsFlags {
  std::string out_dir;
  std::string checkpoint = "best";
  std::string out;
  bool json = false;
};

using LayerTables = std::vector<std::vector<DistanceTable>>;

std::string picture_of(const std::string& title, const LayerTables& layers, int64_t trained) {
  std::vector<std::vector<Chart>> rows;
  for (const std::vector<DistanceTable>& tables : layers) {
    rows.emplace_back();
    for (const DistanceTable& table : tables)
      rows.back().push_back(
          distance_chart(shiftgrad::text("layer ", rows.size() - 1), table, trained));
  }
  bool marked = !rows.front().front().marks.empty();
  for (Chart& chart : rows.back())
    chart.x.title = std::string("distance δ, characters") +
                    (marked ? " (dashed: the longest in training)" : "");
  std::string description = shiftgrad::text("Biases and norms of embeddings by distance, for ",
                                            rows.size(), " layers. ", rows.front().front().y.title,
                                            " in layer 0: ", sentence_of(rows.front().front()));
  return apps::picture_of_charts(title, description, rows, {370, 170});
}

Command::Work prepare(const PositionsFlags& flags) {
  SavedRun run = load_run(flags.out_dir, flags.checkpoint);
  shiftgrad::LanguageModel model = usable_model(run);
  int64_t seen = trained_distances(run);
  LayerTables layers = distance_tables(model, seen);
  require(!layers.empty(), run.source,
          ": nothing learned about distances: ", why_no_distances(run.checkpoint.model));
  if (flags.json) return [figure = distance_figure(layers, seen - 1)] { apps::print_json(figure); };
  std::string out =
      flags.out.empty() ? apps::folder_of(flags.out_dir) + "/positions.svg" : flags.out;
  apps::check_picture_path(out);
  return [=, title = "learned about distances by " + run.source] {
    apps::write_picture(out, picture_of(title, layers, seen - 1));
  };
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
  add_picture_flags(app, flags->out, flags->json, " (default: OUT_DIR/positions.svg)");
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
