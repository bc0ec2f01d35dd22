#include "observation.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/io/json.h"
#include "examples/apps/draw/json_text.h"

namespace apps {

using shiftgrad::require;

namespace {

std::vector<std::string> in_utf8(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back(utf8_of(text));
  return all;
}

std::string text_of(const nlohmann::json& value, const std::string& place) {
  require(value.is_string(), place, ": ", shiftgrad::shown(value), ", expected a text");
  return bytes_of(value.get<std::string>());
}

/// Returns the list with this name.
const nlohmann::json& list_in(const nlohmann::json& object, const char* name,
                              const std::string& place) {
  require(object.is_object() && object.contains(name) && object[name].is_array(), place,
          ": expected a list \"", name, '"');
  return object[name];
}

std::vector<std::string> texts_in(const nlohmann::json& object, const char* name,
                                  const std::string& place) {
  std::vector<std::string> all;
  for (const nlohmann::json& value : list_in(object, name, place))
    all.push_back(text_of(value, place));
  return all;
}

std::string text_in(const nlohmann::json& object, const char* name, const std::string& place) {
  require(object.contains(name), place, ": expected a text \"", name, '"');
  return text_of(object[name], place);
}

TokenWeights weights_of(const nlohmann::json& object, const std::string& place) {
  TokenWeights weights{.title = {},
                       .row_title = {},
                       .rows = texts_in(object, "rows", place),
                       .tokens = texts_in(object, "tokens", place),
                       .values = {}};
  weights.title = text_in(object, "title", place);
  weights.row_title = text_in(object, "row_title", place);
  for (const nlohmann::json& value : list_in(object, "thousandths", place)) {
    require(value.is_number() && value >= 0 && value <= 1000, place, ": a weight of ",
            shiftgrad::shown(value), " thousandths, expected 0 to 1000");
    weights.values.push_back(value.get<double>() / 1000);
  }
  require(!weights.values.empty() &&
              weights.values.size() == weights.rows.size() * weights.tokens.size(),
          place, ": ", weights.values.size(), " weights, expected ", weights.rows.size(), " times ",
          weights.tokens.size());
  return weights;
}

}  // namespace

nlohmann::ordered_json json_of(const Observation& observed) {
  nlohmann::ordered_json line{{"step", static_cast<int64_t>(observed.step)}};
  if (observed.exact_match) line["exact_match"] = *observed.exact_match;
  if (observed.edit_rate) line["edit_rate"] = *observed.edit_rate;
  for (const ReadAndWritten& sample : observed.samples)
    line["samples"].push_back(in_utf8({sample.read, sample.written, sample.expected}));
  if (!observed.attended) return line;
  const TokenWeights& weights = *observed.attended;
  std::vector<int64_t> thousandths;
  for (double value : weights.values) thousandths.push_back(std::lround(1000 * value));
  line["attended"] = {{"title", utf8_of(weights.title)},
                      {"row_title", weights.row_title},
                      {"rows", in_utf8(weights.rows)},
                      {"tokens", in_utf8(weights.tokens)},
                      {"thousandths", thousandths}};
  return line;
}

Observation observation_of(const nlohmann::json& line, const std::string& place) {
  Observation observed{.step = line["step"].get<double>()};
  if (line.contains("samples"))
    for (const nlohmann::json& sample : list_in(line, "samples", place)) {
      require(sample.is_array() && sample.size() == 3, place,
              ": a sample, expected [read, written, expected]");
      auto part = [&](size_t n) { return text_of(sample[n], place); };
      observed.samples.push_back({part(0), part(1), part(2)});
    }
  if (line.contains("attended")) observed.attended = weights_of(line["attended"], place);
  return observed;
}

}  // namespace apps
