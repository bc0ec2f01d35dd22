#include "run_course.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/io/read_file.h"
#include "named_run.h"
#include "out_folder.h"
#include "writers.h"

namespace apps {

using shiftgrad::require;

namespace {

/// Adds the value with that name to the points, if the line has one.
void take(const nlohmann::json& line, const char* name, const std::string& place, double seconds,
          std::vector<Measured>& points) {
  if (!line.contains(name) || line[name].is_null()) return;
  require(line[name].is_number(), place, ": ", name, " ", shiftgrad::shown(line[name]),
          ", expected a number");
  points.push_back({line["step"].get<double>(), line[name].get<double>(), seconds});
}

void read_line(const std::string& text, const std::string& place, RunCourse& course) {
  nlohmann::json line = shiftgrad::parse_json(place.c_str(), text, 3);
  require(line.is_object() && line.contains("step") && line["step"].is_number(), place,
          ": expected an object with a step");
  if (line.contains("seconds") && line["seconds"].is_number())
    course.seconds += line["seconds"].get<double>();
  for (auto [name, points] : {std::pair("loss", &RunCourse::batches),
                              {"train_loss", &RunCourse::training},
                              {"validation_loss", &RunCourse::validation},
                              {"learning_rate", &RunCourse::learning_rates},
                              {"gradient_norm", &RunCourse::gradient_norms},
                              {"tokens_per_second", &RunCourse::speeds},
                              {"exact_match", &RunCourse::exact_matches},
                              {"edit_rate", &RunCourse::edit_rates}})
    take(line, name, place, course.seconds, course.*points);
  if (line.contains("samples") || line.contains("attended"))
    course.observations.push_back(observation_of(line, place));
  course.version = version_in(line, course.version);
}

}  // namespace

std::string version_in(const nlohmann::json& line, const std::string& before) {
  auto entry = line.find("shiftgrad_version");
  return entry != line.end() && entry->is_string() ? entry->get<std::string>() : before;
}

double RunCourse::last_step() const {
  double step = 0;
  for (const std::vector<Measured>* points : {&batches, &validation})
    if (!points->empty()) step = std::max(step, points->back().step);
  return step;
}

std::optional<Measured> RunCourse::best() const {
  auto lowest = std::ranges::min_element(validation, {}, &Measured::value);
  return lowest == validation.end() ? std::nullopt : std::optional(*lowest);
}

std::optional<Measured> RunCourse::validation_at(double step) const {
  auto after = std::ranges::upper_bound(validation, step, {}, &Measured::step);
  return after == validation.begin() ? std::nullopt : std::optional(*(after - 1));
}

RunCourse read_course(const std::string& out_dir, RunCourse earlier) {
  std::string path = RunFolder{folder_of(out_dir)}.metrics();
  RunCourse course = std::move(earlier);
  size_t begin = course.last_line.size();
  std::string text = shiftgrad::read_regular_file(path, course.bytes - begin);
  if (!text.starts_with(course.last_line)) {
    // A training that was resumed earlier, or another one, has other lines.
    course = {};
    begin = 0;
    text = shiftgrad::read_regular_file(path);
  }
  require(!text.empty(), path, ": an empty file");
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string place = shiftgrad::text(path, ": line ", ++course.lines);
    read_line(text.substr(begin, end - begin), place, course);
    course.last_line = text.substr(begin, end + 1 - begin);
    course.bytes += course.last_line.size();
  }
  require(!course.batches.empty() || !course.validation.empty(), path, ": has no finite loss");
  note_writer(path, course.version);
  return course;
}

Line line_of(const std::string& name, const std::vector<Measured>& points, LineStyle style,
             size_t colour, size_t most) {
  Line line{name, {}, style, colour};
  size_t count = std::min(points.size(), most);
  for (size_t n = 0; n < count; ++n) {
    const Measured& point = n + 1 == count ? points.back() : points[n * points.size() / count];
    line.points.push_back({.x = point.step, .y = point.value, .time = point.seconds});
  }
  return line;
}

nlohmann::json json_of(const std::vector<Measured>& losses) {
  nlohmann::json steps = nlohmann::json::array(), values = nlohmann::json::array();
  for (const Measured& loss : losses) {
    steps.push_back(loss.step);
    values.push_back(loss.value);
  }
  return {{"steps", steps}, {"losses", values}};
}

}  // namespace apps
