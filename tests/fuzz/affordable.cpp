#include "tests/fuzz/affordable.h"

#include <algorithm>
#include <cctype>

namespace fuzz {

namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

/// Whether digits that come after this text are no whole number: those of a name, behind a point or
/// of an exponent.
bool goes_on(std::string before) {
  if (before.ends_with('-') || before.ends_with('+')) before.pop_back();
  if (before.empty()) return false;
  return before.back() == '.' || std::isalpha(static_cast<unsigned char>(before.back()));
}

std::string affordable_number(const std::string& digits) {
  constexpr size_t digits_of_most = 13;
  if (digits.size() > digits_of_most) return digits;
  int64_t number = std::stoll(digits);
  bool costs = number > 8 && number <= 1'000'000'000'000;
  return costs ? std::to_string(number % 8 + 1) : digits;
}

}  // namespace

std::string affordable(const std::string& text) {
  std::string result;
  for (auto begin = text.begin(); begin != text.end();) {
    if (!is_digit(*begin)) {
      result += *begin++;
      continue;
    }
    auto end = std::find_if_not(begin, text.end(), is_digit);
    std::string digits(begin, end);
    result += goes_on(result.substr(result.size() - std::min<size_t>(result.size(), 2)))
                  ? digits
                  : affordable_number(digits);
    begin = end;
  }
  return result;
}

const std::map<std::string, std::string>& small_values() {
  static const std::map<std::string, std::string> values = {
      {"batch_size", "2"}, {"block_size", "3"}, {"d_inner", "2"},    {"eval_iters", "1"},
      {"length", "4"},     {"max_iters", "2"},  {"max_length", "4"}, {"n_embd", "4"},
      {"n_head", "2"},     {"n_layer", "1"},    {"seeds", "1"},      {"threads", "1"},
      {"tokens", "5"}};
  return values;
}

}  // namespace fuzz
