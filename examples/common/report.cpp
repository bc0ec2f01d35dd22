#include "report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/errors.h"
#include "printable.h"
#include "progress.h"
#include "svg.h"

namespace common {

using Json = nlohmann::ordered_json;

namespace {

constexpr double most_bytes = 3e6;

/// Returns the same with texts that a page can show.
Json printable_of(Json json) {
  if (json.is_string()) return printable_lines(json.get_ref<const std::string&>());
  if (json.is_array())
    for (Json& value : json) value = printable_of(std::move(value));
  if (!json.is_object()) return json;
  Json shown = Json::object();
  for (auto& [name, value] : json.items()) shown[printable(name)] = printable_of(std::move(value));
  return shown;
}

/// Returns JSON that can stand in a page: nothing in it ends a script.
std::string in_script(const Json& json) {
  std::string text = printable_of(json).dump(-1, ' ', false, Json::error_handler_t::replace), safe;
  for (char character : text) safe += character == '<' ? "\\u003c" : std::string(1, character);
  return safe;
}

/// Returns at most `most` of the points, evenly spread, and the last one.
std::vector<LossPoint> thinned(const std::vector<LossPoint>& points, size_t most) {
  if (points.size() <= most) return points;
  std::vector<LossPoint> kept;
  for (size_t n = 0; n < most; ++n) kept.push_back(points[n * points.size() / most]);
  kept.back() = points.back();
  return kept;
}

/// Rounds losses to the digits that one reads.
Json curve_of(const std::vector<LossPoint>& points) {
  std::vector<LossPoint> shown = thinned(points, 500);
  for (LossPoint& point : shown) point.loss = std::round(point.loss * 1e4) / 1e4;
  return json_of(shown);
}

/// Returns the report as a page.
std::string page_of(const Json& report) {
  std::string names;
  for (const Json& run : report["runs"])
    names += (names.empty() ? "" : ", ") + run["name"].get<std::string>();
  std::string page = shiftgrad::text(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Report of )",
      xml(names), "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n", report_style,
      "</style>\n<script>\n", report_script,
      R"(</script>
<script type="module">
import 'book/color_scheme.js';
import 'book/run_report.js';
</script>
</head>
<body>
<a class="skip" href="#text">Skip to the report</a>
<header><nav aria-label="Sections" id="sections"></nav><color-scheme></color-scheme></header>
<main id="text">
<h1>Report of )",
      xml(names),
      R"(</h1>
<noscript>This report is drawn by JavaScript, which is switched off.</noscript>
<run-report><script type="application/json">)",
      in_script(report), "</script></run-report>\n</main>\n<footer><p>Written by ",
      xml(report["program"].get<std::string>()),
      " " SHIFTGRAD_VERSION ".</p></footer>\n</body>\n</html>\n");
  shiftgrad::require(static_cast<double>(page.size()) < most_bytes, "the report would have ",
                     std::round(static_cast<double>(page.size()) / 1e5) / 10,
                     " MB, expected less than 3; fewer runs make it smaller");
  return page;
}

}  // namespace

CLI::App& add_report_command(CLI::App& program, const std::string& shows, ReportFlags& flags) {
  CLI::App& app = add_command(program, "report",
                              "Write a page about runs, side by side: " + shows +
                                  "; one file that a browser opens from a disk");
  set_required(add_argument(app, "RUN", flags.runs, "folders of training runs, or files in them"));
  add_flag(app, "checkpoint", flags.checkpoint, "best|last", "checkpoint to read");
  return app;
}

void add_report_place(CLI::App& app, ReportFlags& flags) {
  add_flag(app, "out", flags.out, "FILE", "HTML file to write");
}

void write_report(const std::string& file, const std::string& program, const std::string& unit,
                  size_t runs, const std::function<Json(size_t n)>& report_of) {
  Progress progress("runs");
  Json list = Json::array();
  for (size_t n = 0; n < runs; ++n) {
    progress.show(static_cast<int64_t>(n), static_cast<int64_t>(runs));
    list.push_back(report_of(n));
  }
  progress.pause();
  write_picture(file, page_of({{"program", program}, {"unit", unit}, {"runs", list}}));
}

std::vector<std::pair<std::string, shiftgrad::Dims>> shapes_of(const shiftgrad::Module& model) {
  std::vector<std::pair<std::string, shiftgrad::Dims>> shapes;
  for (const shiftgrad::Parameter& parameter : parameters(model))
    shapes.emplace_back(parameter.name, parameter.value.shape());
  return shapes;
}

Json report_of_run(const RunInReport& run) {
  Json tensors = Json::array();
  for (const auto& [name, shape] : run.tensors)
    tensors.push_back(
        {{"name", name}, {"shape", std::vector<int64_t>(shape.begin(), shape.end())}});
  const std::optional<double>& validation_loss = run.state.validation_loss;
  return {{"name", printable(run.name)},
          {"checkpoint", printable(run.checkpoint)},
          {"step", run.state.step},
          {"validation_loss", validation_loss ? Json(*validation_loss) : Json()},
          {"flags", Json::parse(run.flags)},
          {"tensors", tensors}};
}

Json loss_part(const std::string& run) {
  LossCurve loss = read_loss_curve(run);
  return {{"batches", curve_of(loss.batches)}, {"validation", curve_of(loss.validation)}};
}

Json part(const std::function<Json()>& make) try {
  return make();
} catch (const shiftgrad::Error& error) {
  return {{"nothing", printable(error.what())}};
}

Json attention_part(const std::string& title, const std::vector<std::string>& queries,
                    const std::vector<std::string>& keys,
                    const std::vector<std::vector<AttentionMap>>& layers) {
  Json all = Json::array();
  for (const std::vector<AttentionMap>& maps : layers) {
    Json layer = Json::array();
    for (const AttentionMap& map : maps) {
      std::vector<int> thousandths;
      for (double weight : map.weights)
        thousandths.push_back(static_cast<int>(std::lround(weight * 1000)));
      layer.push_back({{"title", map.title}, {"weights", thousandths}});
    }
    all.push_back(layer);
  }
  return {{"title", title}, {"queries", queries}, {"keys", keys}, {"layers", all}};
}

int64_t tokens_to_show(int64_t maps) {
  constexpr double bytes = 1.5e6, bytes_of_weight = 2.7;
  double most =
      std::sqrt(bytes / (bytes_of_weight * static_cast<double>(std::max<int64_t>(1, maps))));
  return std::clamp<int64_t>(static_cast<int64_t>(most), 2, 48);
}

}  // namespace common
