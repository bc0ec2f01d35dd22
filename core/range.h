#pragma once

#include <cmath>
#include <string>

namespace shiftgrad {

/// The numbers that a setting may have, from `least` to `greatest`.
struct Range {
  /// The bounds.
  double least, greatest;
  /// Whether the bounds themselves are allowed.
  bool with_least = true, with_greatest = true;
};

/// The ranges of settings and flags. The greatest values are more than any machine can use, yet
/// small enough that the product of two counts, or the sum of many, fits into 64 bits.
namespace range {

/// The greatest count.
constexpr double most = 1e9;
/// All numbers.
constexpr Range any{-HUGE_VAL, HUGE_VAL};
/// Counts.
constexpr Range zero_or_more{0, most}, one_or_more{1, most}, two_or_more{2, most};
/// Numbers of steps, and of the steps from one event to the next.
constexpr Range steps{0, 1e12}, interval{1, 1e12};
/// Sizes of models and of machines.
constexpr Range layers{1, 1e4}, channels{1, 1e6}, index{0, 1e6}, thread_count{0, 1e4};
/// Factors; those of `positive` are not 0.
constexpr Range rate{0, 1e38}, positive{0, 1e38, false};
/// Probabilities; `less_than_one` has no 1.
constexpr Range probability{0, 1}, less_than_one{0, 1, true, false};
/// Parts of a whole that are not 0; `proper_share` has no 1.
constexpr Range share{0, 1, false}, proper_share{0, 1, false, false};

}  // namespace range

/// Returns what was expected if the value is not allowed, such as ", expected at least 1";
/// otherwise an empty string.
std::string range_error(double value, const Range& range);

}  // namespace shiftgrad
