#include "metrics.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/errors.h"

namespace char_lm {

using Json = nlohmann::ordered_json;

Metrics::Metrics(const std::string& path) : path_(path), file_(path) {
  shiftgrad::require(file_.is_open(), path, ": ", std::strerror(errno));
}

void Metrics::write(const shiftgrad::StepReport& report, double tokens_per_second) {
  write(Json{{"step", report.step},
             {"loss", report.loss},
             {"learning_rate", report.learning_rate},
             {"gradient_norm", report.gradient_norm},
             {"tokens_per_second", tokens_per_second}});
}

void Metrics::write(const shiftgrad::EvaluationReport& report) {
  write(Json{{"step", report.step},
             {"train_loss", report.train.nats},
             {"validation_loss", report.validation.nats}});
}

void Metrics::write(const Json& line) {
  file_ << line << std::endl;
  shiftgrad::require(file_.good(), path_, ": ", std::strerror(errno));
}

}  // namespace char_lm
