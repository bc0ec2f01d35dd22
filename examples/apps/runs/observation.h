#pragma once

// What a training looks at after each evaluation, so that a report can show how it came about.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace apps {

/// What a model read, what it wrote, and what it was to write, if that is known.
struct ReadAndWritten {
  std::string read, written, expected{};
};

/// Weights of tokens that were read: a row for each that weighs them.
struct TokenWeights {
  std::string title;
  /// What a row is, such as "head", and the names of all rows.
  std::string row_title;
  std::vector<std::string> rows, tokens;
  std::vector<double> values;
};

/// A few lines about a model after `step` steps. Shares are of 1.
struct Observation {
  double step = 0;
  std::vector<ReadAndWritten> samples{};
  std::optional<TokenWeights> attended{};
  std::optional<double> exact_match{}, edit_rate{};
};

/// Returns {"step", "exact_match", "edit_rate", "samples": [[read, written, expected]…],
/// "attended": {"title", "row_title", "rows", "tokens", "thousandths"}}, without what there is not.
/// Texts may be any bytes.
nlohmann::ordered_json json_of(const Observation& observed);

/// Reads the samples and what was attended to of such an object, or of any other with a step; the
/// shares are curves of the run (run_course.h). Throws an error that begins with `place` where
/// its parts are not what json_of writes.
Observation observation_of(const nlohmann::json& line, const std::string& place);

}  // namespace apps
