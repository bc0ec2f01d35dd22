#include "comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>

#include "core/io/atomic_file.h"
#include "examples/apps/draw/fixed.h"
#include "examples/apps/draw/picture.h"

namespace char_lm {

using apps::fixed;

namespace {

double mean(const std::vector<Run>& runs, const std::function<double(const Run&)>& figure) {
  double total = 0;
  for (const Run& run : runs) total += figure(run);
  return total / static_cast<double>(runs.size());
}

double bits(const ComparedModel& model) {
  return mean(model.runs, [](const Run& run) { return run.bits; });
}

std::optional<double> deviation(const ComparedModel& model) {
  if (model.runs.size() < 2) return std::nullopt;
  double middle = bits(model);
  auto squared = [&](const Run& run) { return (run.bits - middle) * (run.bits - middle); };
  double n = static_cast<double>(model.runs.size());
  return std::sqrt(mean(model.runs, squared) * n / (n - 1));
}

using Cells = std::vector<std::string>;

const Cells titles = {"model",
                      "parameters",
                      "runs",
                      "bits per character",
                      "deviation",
                      "training tokens/s",
                      "writing tokens/s",
                      "peak MB"};

Cells cells(const ComparedModel& model) {
  auto whole = [&](auto figure) { return fixed(mean(model.runs, figure), 0); };
  std::optional<double> spread = deviation(model);
  return {
      model.name,
      std::to_string(model.parameters),
      std::to_string(model.runs.size()),
      fixed(bits(model), 3),
      spread ? fixed(*spread, 3) : "",
      whole([](const Run& run) { return run.training_speed; }),
      whole([](const Run& run) { return run.writing_speed; }),
      fixed(mean(model.runs, [](const Run& run) { return static_cast<double>(run.bytes); }) / 1e6,
            1)};
}

std::string joined(const Cells& cells, const std::string& separator) {
  std::string line = cells.front();
  for (size_t n = 1; n < cells.size(); ++n) line += separator + cells[n];
  return line;
}

/// Returns a line of CSV. The name of a model may contain a comma.
std::string csv_line(Cells cells) {
  if (cells[0].find(',') != std::string::npos) cells[0] = '"' + cells[0] + '"';
  return joined(cells, ",") + '\n';
}

}  // namespace

std::string markdown(const std::vector<ComparedModel>& models) {
  auto line = [](const Cells& cells) { return "| " + joined(cells, " | ") + " |\n"; };
  Cells right(titles.size(), "---:");
  right[0] = "---";
  std::string table = line(titles) + line(right);
  for (const ComparedModel& model : models) table += line(cells(model));
  return table;
}

void write_csv(const std::filesystem::path& path, const std::vector<ComparedModel>& models) {
  std::string table = csv_line(titles);
  for (const ComparedModel& model : models) table += csv_line(cells(model));
  shiftgrad::write_file_atomically(path, table);
}

std::string picture_of(const std::vector<ComparedModel>& models) {
  auto count = static_cast<double>(models.size());
  apps::Chart chart{
      .x = {.title = "bits per character of the validation split (mean and deviation)",
            .room = 0.05},
      .y = {.low = 0.5 - count, .high = 0.5}};
  apps::Line line{"", {}, apps::LineStyle::dots, 0};
  for (const ComparedModel& model : models) {
    double place = -static_cast<double>(line.points.size());
    chart.y.ticks.push_back({place, model.name});
    line.points.push_back({bits(model), place, deviation(model).value_or(0)});
  }
  chart.lines.push_back(line);
  auto best = std::ranges::min_element(models, {}, bits);
  return apps::picture_of_charts(
      "Comparison",
      shiftgrad::text("The bits per character of ", models.size(), " models; the least are ",
                      fixed(bits(*best), 3), ", of ", best->name, '.'),
      {{chart}}, {560, 24 * count});
}

}  // namespace char_lm
