#include "core/range.h"

#include <cmath>
#include <cstdint>

#include "core/errors.h"

namespace shiftgrad {

namespace {

/// Returns 1e9 as "1000000000", and 0.5 as "0.5".
std::string number(double value) {
  bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? std::to_string(static_cast<int64_t>(value)) : text(value);
}

}  // namespace

std::string range_error(double value, const Range& range) {
  bool enough = range.with_least ? value >= range.least : value > range.least;
  bool few_enough = range.with_greatest ? value <= range.greatest : value < range.greatest;
  if (enough && few_enough) return "";
  std::string least = number(range.least), greatest = number(range.greatest);
  // For a wide range, the error names only the bound that was crossed.
  if (range.greatest > 1 && enough) return text(", expected at most ", greatest);
  if (range.greatest > 1)
    return text(", expected ", range.with_least ? "at least " : "more than ", least);
  if (range.with_least)
    return text(", expected ", least, range.with_greatest ? " to " : " to less than ", greatest);
  return text(", expected more than ", least, " and ",
              range.with_greatest ? "at most " : "less than ", greatest);
}

}  // namespace shiftgrad
