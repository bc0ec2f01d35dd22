#include "metrics.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "core/errors.h"
#include "core/io/atomic_file.h"

namespace apps {

using Json = nlohmann::ordered_json;

namespace {

/// Whether this is a complete line about a step up to `step`.
bool belongs(const std::string& line, int64_t step) {
  auto object = nlohmann::json::parse(line, nullptr, false);
  return object.is_object() && object.contains("step") && object["step"].is_number_integer() &&
         object["step"] <= step;
}

/// Returns the lines that a run resumed after `step` keeps.
std::string lines_up_to(const std::string& path, int64_t step) {
  if (step == 0 || !std::filesystem::exists(path)) return "";
  std::istringstream file(shiftgrad::read_regular_file(path));
  std::string line, kept;
  while (std::getline(file, line) && belongs(line, step)) kept += line + '\n';
  return kept;
}

void drop_lines_after(const std::string& path, int64_t step) {
  std::string kept = lines_up_to(path, step);
  shiftgrad::write_file_atomically(path, kept);
}

}  // namespace

Metrics::Metrics(const std::string& path, int64_t step) : path_(path) {
  drop_lines_after(path, step);
  file_ = shiftgrad::Descriptor(path, O_WRONLY | O_APPEND | O_CREAT);
  shiftgrad::in_name_of(path,
                        [&] { shiftgrad::check_system(file_.is_open(), "cannot be written"); });
}

void Metrics::write(const shiftgrad::StepReport& report, double tokens_per_second, double seconds) {
  Json line{{"step", report.step},
            {"loss", report.loss},
            {"learning_rate", report.learning_rate},
            {"gradient_norm", report.gradient_norm},
            {"tokens_per_second", tokens_per_second},
            {"seconds", seconds}};
  if (report.waiting_seconds > 0) line["waiting"] = report.waiting_seconds / report.seconds;
  write(line);
}

void Metrics::write(const shiftgrad::EvaluationReport& report) {
  write(Json{{"step", report.step},
             {"train_loss", report.train.nats},
             {"validation_loss", report.validation.nats}});
}

void Metrics::write(const Observation& observed) { write(json_of(observed)); }

void Metrics::write(const Json& line) {
  std::string text = line.dump() + '\n';
  shiftgrad::in_name_of(
      path_, [&] { shiftgrad::write_all(file_.number(), std::as_bytes(std::span(text))); });
}

}  // namespace apps
