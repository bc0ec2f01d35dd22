#include "near_name.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "shiftgrad/core/errors.h"

namespace common {

size_t edit_distance(const std::string& a, const std::string& b) {
  // Entry j of row i is the distance from the first i characters of a to the first j of b.
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last.back();
}

std::string did_you_mean(const std::string& typed, const std::vector<std::string>& names) {
  constexpr size_t longest = 100;  // computing the distance takes longer for longer texts
  if (typed.size() > longest) return "";
  auto distance = [&](const std::string& name) { return edit_distance(typed, name); };
  auto nearest = std::ranges::min_element(names, {}, distance);
  bool near = nearest != names.end() && distance(*nearest) <= 1 + typed.size() / 4;
  return near ? ", did you mean " + *nearest + "?" : "";
}

std::string complaint(const std::string& value, const std::string& choices) {
  std::vector<std::string> names;
  std::istringstream list(choices);
  for (std::string name; std::getline(list, name, '|');) names.push_back(name);
  if (std::ranges::find(names, value) != names.end()) return "";
  std::string expected = names.front();
  for (size_t n = 1; n < names.size(); ++n)
    expected += (n + 1 < names.size() ? ", " : " or ") + names[n];
  return shiftgrad::text(", expected ", expected, did_you_mean(value, names));
}

void check_choice(const std::string& flag, const std::string& value, const std::string& choices) {
  std::string wrong = complaint(value, choices);
  shiftgrad::require(wrong.empty(), flag, ' ', value, wrong);
}

}  // namespace common
