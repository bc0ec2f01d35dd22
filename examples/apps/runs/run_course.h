#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "examples/apps/draw/chart.h"
#include "observation.h"

namespace apps {

/// A value that a training measured after `step` steps, and after so many seconds of training.
struct Measured {
  double step, value, seconds;
};

/// The course of a run from its metrics, without what is not finite: losses of each batch and of
/// both texts or their beginnings, in nats; learning rates, norms of gradients and speeds in
/// tokens/s; and the time of all steps. What the metrics do not have is empty or 0.
struct RunCourse {
  std::vector<Measured> batches, training, validation;
  std::vector<Measured> learning_rates, gradient_norms, speeds;
  /// Shares of exact translations and of edits, and what else was observed after evaluations.
  std::vector<Measured> exact_matches, edit_rates;
  std::vector<Observation> observations;
  double seconds = 0;
  std::string version{};  // that wrote the last lines, or empty

  /// The lines that it was read from: how many, their bytes, and the last one.
  int lines = 0;
  uint64_t bytes = 0;
  std::string last_line{};

  /// Returns the step of the last loss.
  double last_step() const;
  /// Returns the lowest loss of the validation text, the first of these, or none.
  std::optional<Measured> best() const;
  /// Returns the last loss of the validation text up to a step, or none.
  std::optional<Measured> validation_at(double step) const;
};

/// Returns the course of the run in a folder. Throws one line that begins with the path of its
/// metrics when they are missing or broken, or have no loss. An incomplete last line, which is
/// still being written, is no error. Reads only what was added where the last line of an earlier
/// course stands where it stood.
RunCourse read_course(const std::string& out_dir, RunCourse earlier = {});

/// Returns the version of the library that a line of metrics names, or `before`.
std::string version_in(const nlohmann::json& line, const std::string& before);

/// Returns a line of a chart, of at most `most` evenly spread points and the last one.
Line line_of(const std::string& name, const std::vector<Measured>& points, LineStyle style,
             size_t colour, size_t most);

/// Returns {"steps": […], "losses": […]}.
nlohmann::json json_of(const std::vector<Measured>& losses);

}  // namespace apps
