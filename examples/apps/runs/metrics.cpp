#include "metrics.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <utility>

#include "core/errors.h"
#include "core/io/atomic_file.h"
#include "nn/models/run_file.h"
#include "run_course.h"

namespace apps {

using Json = nlohmann::ordered_json;

namespace {

/// Whether this is a complete line about a step up to `step`.
bool belongs(const nlohmann::json& object, int64_t step) {
  return object.is_object() && object.contains("step") && object["step"].is_number_integer() &&
         object["step"] <= step;
}

/// The lines that a run resumed after `step` keeps, and the last version that they name.
struct Kept {
  std::string lines{}, version{};
};

Kept lines_up_to(const std::string& path, int64_t step) {
  if (step == 0 || !std::filesystem::exists(path)) return {};
  std::istringstream file(shiftgrad::read_regular_file(path));
  Kept kept;
  for (std::string line; std::getline(file, line);) {
    auto object = nlohmann::json::parse(line, nullptr, false);
    if (!belongs(object, step)) break;
    kept.lines += line + '\n';
    kept.version = version_in(object, kept.version);
  }
  return kept;
}

}  // namespace

Metrics::Metrics(const std::string& path, int64_t step) : path_(path) {
  Kept kept = lines_up_to(path, step);
  shiftgrad::write_file_atomically(path, kept.lines);
  version_ = kept.version;
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

void Metrics::write(Json line) {
  std::string own = shiftgrad::library_version();
  if (std::exchange(version_, own) != own) line["shiftgrad_version"] = own;
  std::string text = line.dump() + '\n';
  shiftgrad::in_name_of(
      path_, [&] { shiftgrad::write_all(file_.number(), std::as_bytes(std::span(text))); });
}

}  // namespace apps
