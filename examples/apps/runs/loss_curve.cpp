#include "loss_curve.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/errors.h"
#include "core/io/json.h"
#include "core/io/read_file.h"
#include "named_run.h"
#include "out_folder.h"

namespace common {

using shiftgrad::require;

namespace {

/// Adds the loss with that name to the points, if the line has one.
void take(const nlohmann::json& line, const char* name, const std::string& place,
          std::vector<LossPoint>& points) {
  if (!line.contains(name) || line[name].is_null()) return;
  require(line[name].is_number(), place, ": ", name, " ", shiftgrad::shown(line[name]),
          ", expected a number");
  points.push_back({line["step"].get<double>(), line[name].get<double>()});
}

void read_line(const std::string& text, const std::string& place, LossCurve& curve) {
  nlohmann::json line = shiftgrad::parse_json(place.c_str(), text, 2);
  require(line.is_object() && line.contains("step") && line["step"].is_number(), place,
          ": expected an object with a step");
  take(line, "loss", place, curve.batches);
  take(line, "train_loss", place, curve.training);
  take(line, "validation_loss", place, curve.validation);
  auto number = [&](const char* name) {
    return line.contains(name) && line[name].is_number() ? line[name].get<double>() : 0;
  };
  if (number("tokens_per_second") > 0) curve.speeds.push_back(number("tokens_per_second"));
  curve.seconds += number("seconds");
}

}  // namespace

double LossCurve::last_step() const {
  double step = 0;
  for (const std::vector<LossPoint>* points : {&batches, &validation})
    if (!points->empty()) step = std::max(step, points->back().step);
  return step;
}

std::optional<LossPoint> LossCurve::best() const {
  auto lowest = std::ranges::min_element(validation, {}, &LossPoint::loss);
  return lowest == validation.end() ? std::nullopt : std::optional(*lowest);
}

std::optional<LossPoint> LossCurve::validation_at(double step) const {
  auto after = std::ranges::upper_bound(validation, step, {}, &LossPoint::step);
  return after == validation.begin() ? std::nullopt : std::optional(*(after - 1));
}

LossCurve read_loss_curve(const std::string& out_dir) {
  std::string path = RunFolder{folder_of(out_dir)}.metrics();
  std::string text = shiftgrad::read_regular_file(path);
  require(!text.empty(), path, ": an empty file");
  LossCurve curve;
  size_t begin = 0;
  for (int number = 1; begin < text.size(); ++number) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    read_line(text.substr(begin, end - begin), shiftgrad::text(path, ": line ", number), curve);
    begin = end + 1;
  }
  require(!curve.batches.empty() || !curve.validation.empty(), path, ": has no finite loss");
  return curve;
}

Line loss_line(const std::string& name, const std::vector<LossPoint>& points, LineStyle style,
               size_t colour, size_t most) {
  Line line{name, {}, style, colour};
  size_t count = std::min(points.size(), most);
  for (size_t n = 0; n < count; ++n) {
    const LossPoint& point = n + 1 == count ? points.back() : points[n * points.size() / count];
    line.points.push_back({point.step, point.loss});
  }
  return line;
}

nlohmann::json json_of(const std::vector<LossPoint>& points) {
  nlohmann::json steps = nlohmann::json::array(), losses = nlohmann::json::array();
  for (auto [step, loss] : points) {
    steps.push_back(step);
    losses.push_back(loss);
  }
  return {{"steps", steps}, {"losses", losses}};
}

}  // namespace common
