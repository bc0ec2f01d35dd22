#include "optim/parameter_patterns.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/errors.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

namespace {

bool matches(const std::string& name, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < list.size(); begin += parts.back().size() + 1)
    parts.push_back(list.substr(begin, list.find(',', begin) - begin));
  return parts;
}

void check_matches(const char* field, const std::string& pattern,
                   const std::vector<Parameter>& parameters, const std::vector<TiedName>& tied) {
  auto named = [&](const auto& one) { return matches(one.name, pattern); };
  if (std::ranges::any_of(parameters, named)) return;
  auto other = std::ranges::find_if(tied, named);
  if (other != tied.end())
    fail(field, " \"", pattern, "\": ", other->name, " is tied to ", other->listed_as,
         ", expected that name");
  fail(field, " \"", pattern, "\", expected a pattern that matches a parameter, such as ",
       parameters.empty() ? "none" : parameters.front().name);
}

/// Returns the number after the last '=' of PATTERN=FACTOR.
double factor_of(const std::string& entry) {
  size_t place = entry.rfind('=') + 1;  // 0 without one
  const char *begin = entry.data() + place, *end = entry.data() + entry.size();
  double factor = 0;
  auto [rest, error] = std::from_chars(begin, end, factor);
  require(entry.find('=') != std::string::npos && error == std::errc() && rest == end &&
              std::isfinite(factor) && factor > 0,
          "lr_scale \"", entry, "\", expected PATTERN=FACTOR with a factor of more than 0");
  return factor;
}

/// Returns the factor of the last entry that matches, 1 without one.
double scaled(const std::string& name, const std::string& entries) {
  double factor = 1;
  for (const std::string& entry : split(entries))
    if (matches(name, entry.substr(0, entry.rfind('=')))) factor = factor_of(entry);
  return factor;
}

/// Returns "b has", or "b and 2 more have".
std::string first_of(const std::vector<std::string>& names, const char* has, const char* have) {
  if (names.size() == 1) return text(names[0], ' ', has);
  return text(names[0], " and ", names.size() - 1, " more ", have);
}

}  // namespace

bool is_frozen(const std::string& name, const std::string& patterns) {
  return std::ranges::any_of(split(patterns), [&](auto& one) { return matches(name, one); });
}

std::vector<Parameter> trainable(const std::vector<Parameter>& parameters,
                                 const std::string& patterns, const std::vector<TiedName>& tied) {
  std::vector<Parameter> left = parameters;
  for (const std::string& pattern : split(patterns)) {
    check_matches("freeze", pattern, parameters, tied);
    std::erase_if(left, [&](auto& parameter) { return matches(parameter.name, pattern); });
  }
  require(!left.empty(), "freeze \"", patterns, "\" leaves no parameter to train");
  return left;
}

std::vector<double> learning_rate_factors(const std::vector<Parameter>& parameters,
                                          const std::string& patterns,
                                          const std::vector<TiedName>& tied) {
  std::vector<double> factors(parameters.size(), 1);
  for (const std::string& entry : split(patterns)) {
    double factor = factor_of(entry);
    std::string pattern = entry.substr(0, entry.rfind('='));
    check_matches("lr_scale", pattern, parameters, tied);
    for (size_t n = 0; n < parameters.size(); ++n)
      if (matches(parameters[n].name, pattern)) factors[n] = factor;
  }
  return factors;
}

std::vector<std::string> tied_notes(const std::vector<TiedName>& tied, const std::string& freeze,
                                    const std::string& lr_scale) {
  std::map<std::string, std::vector<std::string>> not_frozen_alike, not_scaled_alike;
  for (const auto& [name, owner] : tied) {
    if (is_frozen(name, freeze) != is_frozen(owner, freeze))
      not_frozen_alike[owner].push_back(name);
    if (scaled(name, lr_scale) != scaled(owner, lr_scale)) not_scaled_alike[owner].push_back(name);
  }
  std::vector<std::string> notes;
  for (const auto& [owner, names] : not_frozen_alike)
    notes.push_back(is_frozen(owner, freeze) ? text("freeze: ", first_of(names, "is", "are"),
                                                    " frozen with ", owner, ", tied to it")
                                             : text("freeze: ", first_of(names, "learns", "learn"),
                                                    " with ", owner, ", tied to it"));
  for (const auto& [owner, names] : not_scaled_alike)
    notes.push_back(text("lr_scale: ", first_of(names, "has", "have"), " the factor ",
                         scaled(owner, lr_scale), " of ", owner, ", tied to it"));
  return notes;
}

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
