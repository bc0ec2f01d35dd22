#include "optim/freeze.h"

#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "core/errors.h"

namespace shiftgrad::inline SHIFTGRAD_PRECISION {

std::vector<Parameter> not_frozen(const std::vector<Parameter>& parameters,
                                  const std::string& patterns) {
  std::vector<Parameter> left = parameters;
  auto matches = [](const std::string& pattern) {
    return [&](const Parameter& parameter) {
      return ::fnmatch(pattern.c_str(), parameter.name.c_str(), 0) == 0;
    };
  };
  std::istringstream list(patterns);
  for (std::string pattern; std::getline(list, pattern, ',');) {
    require(std::ranges::any_of(parameters, matches(pattern)), "freeze \"", pattern,
            "\", expected a pattern that matches a parameter, such as ", parameters.front().name);
    std::erase_if(left, matches(pattern));
  }
  require(!left.empty(), "freeze \"", patterns, "\" leaves no parameter to train");
  return left;
}

}  // namespace shiftgrad::inline SHIFTGRAD_PRECISION
