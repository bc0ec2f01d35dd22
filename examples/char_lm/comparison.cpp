#include "comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "examples/common/fixed.h"
#include "examples/common/gnuplot.h"
#include "examples/common/picture.h"
#include "shiftgrad/core/io/atomic_file.h"

namespace char_lm {

using common::colour;
using common::fixed;
using common::gnuplot_string;
using common::has_gnuplot;
using common::Picture;

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
  std::span<const std::byte> bytes = std::as_bytes(std::span(table));
  shiftgrad::write_file_atomically(path, std::span(&bytes, 1));
}

bool plot(const std::filesystem::path& path, const std::vector<ComparedModel>& models) {
  if (!has_gnuplot()) return false;
  Picture picture(path, 800, 90 + 24 * static_cast<int>(models.size()));
  picture.add("set xlabel 'bits per character of the validation split (mean and deviation)'");
  picture.add("set grid xtics linecolor 'gray80'");
  picture.add("set yrange [", models.size(), " - 0.5:-0.5]");
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const ComparedModel& model : models) {
    double middle = bits(model), spread = deviation(model).value_or(0);
    low = std::min(low, middle - spread);
    high = std::max(high, middle + spread);
  }
  picture.range("x", low, high);
  picture.add("$scores << END");
  for (size_t n = 0; n < models.size(); ++n)
    picture.add(n, ' ', bits(models[n]), ' ', deviation(models[n]).value_or(0), ' ',
                gnuplot_string(models[n].name));
  picture.add("END");
  picture.add("plot $scores using 2:1:3:ytic(4) with xerrorbars notitle pointtype 7 linewidth 1.5 ",
              "linecolor ", colour(0));
  picture.draw();
  return true;
}

}  // namespace char_lm
