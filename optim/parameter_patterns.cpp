#include "optim/parameter_patterns.h"

#ifdef _WIN32
#include <regex>
#else
#include <fnmatch.h>
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

#ifdef _WIN32
/// A pattern of a shell has a star, a question mark, and letters in brackets.
bool matches(const Parameter& parameter, const std::string& pattern) {
  std::string form = std::regex_replace(pattern, std::regex(R"([.^$+(){}|\\])"), R"(\$&)");
  form = std::regex_replace(form, std::regex(R"(\*)"), ".*");
  form = std::regex_replace(form, std::regex(R"(\?)"), ".");
  form = std::regex_replace(form, std::regex(R"(\[!)"), "[^");
  return std::regex_match(parameter.name, std::regex(form));
}
#else
bool matches(const Parameter& parameter, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), parameter.name.c_str(), 0) == 0;
}
#endif

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

void check_matches(const char* field, const std::string& pattern,
                   const std::vector<Parameter>& parameters) {
  require(std::ranges::any_of(parameters, [&](auto& p) { return matches(p, pattern); }), field,
          " \"", pattern, "\", expected a pattern that matches a parameter, such as ",
          parameters.front().name);
}

/// Returns the number after the last '=' of PATTERN=FACTOR.
double factor_of(const std::string& entry) {
  const char *begin = entry.data() + entry.rfind('=') + 1, *end = entry.data() + entry.size();
  double factor = 0;
  auto [rest, error] = std::from_chars(begin, end, factor);
  require(entry.find('=') != std::string::npos && error == std::errc() && rest == end &&
              std::isfinite(factor) && factor > 0,
          "lr_scale \"", entry, "\", expected PATTERN=FACTOR with a factor of more than 0");
  return factor;
}

}  // namespace

std::vector<Parameter> trainable(const std::vector<Parameter>& parameters,
                                 const std::string& patterns) {
  std::vector<Parameter> left = parameters;
  for (const std::string& pattern : split(patterns)) {
    check_matches("freeze", pattern, parameters);
    std::erase_if(left, [&](auto& parameter) { return matches(parameter, pattern); });
  }
  require(!left.empty(), "freeze \"", patterns, "\" leaves no parameter to train");
  return left;
}

std::vector<double> learning_rate_factors(const std::vector<Parameter>& parameters,
                                          const std::string& patterns) {
  std::vector<double> factors(parameters.size(), 1);
  for (const std::string& entry : split(patterns)) {
    double factor = factor_of(entry);
    std::string pattern = entry.substr(0, entry.rfind('='));
    check_matches("lr_scale", pattern, parameters);
    for (size_t n = 0; n < parameters.size(); ++n)
      if (matches(parameters[n], pattern)) factors[n] = factor;
  }
  return factors;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
