#include "metrics.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/errors.h"

namespace char_lm {

using Json = nlohmann::ordered_json;

Metrics::Metrics(const std::string& path) : file_(path) {
  shiftgrad::require(file_.is_open(), path, ": ", std::strerror(errno));
}

void Metrics::write(const shiftgrad::StepReport& report, double tokens_per_second) {
  file_ << Json{{"step", report.step},
                {"loss", report.loss},
                {"learning_rate", report.learning_rate},
                {"gradient_norm", report.gradient_norm},
                {"tokens_per_second", tokens_per_second}}
        << std::endl;
}

void Metrics::write(const shiftgrad::EvaluationReport& report) {
  file_ << Json{{"step", report.step},
                {"train_loss", report.train.nats},
                {"validation_loss", report.validation.nats}}
        << std::endl;
}

}  // namespace char_lm
