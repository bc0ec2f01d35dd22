#include "dates.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <numeric>
#include <string>

#include "core/errors.h"
#include "core/random.h"

namespace seq2seq {

using shiftgrad::Random;
using shiftgrad::text;

namespace {

using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr const char* months[] = {"January",   "February", "March",    "April",
                                  "May",       "June",     "July",     "August",
                                  "September", "October",  "November", "December"};
constexpr const char* weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                    "Thursday", "Friday", "Saturday"};

std::string two_digits(int number) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%02d", number);
  return digits;
}

/// Returns 1st, 2nd, 3rd, 4th, … 11th, … 21st.
std::string ordinal(int day) {
  const char* endings[] = {"th", "st", "nd", "rd"};
  bool teens = day / 10 == 1;
  return std::to_string(day) + (teens || day % 10 > 3 ? "th" : endings[day % 10]);
}

std::string lower(std::string word) {
  for (char& letter : word) letter = static_cast<char>(std::tolower(letter));
  return word;
}

std::string upper(std::string word) {
  for (char& letter : word) letter = static_cast<char>(std::toupper(letter));
  return word;
}

/// Joins the parts, the last one first. Braces draw the parts in the order in which they are
/// written, while a compiler may draw a function's arguments in any order. The dates depend on this
/// order.
std::string backwards(std::initializer_list<std::string> parts) {
  std::string line;
  for (const std::string& part : parts) line = part + line;
  return line;
}

/// Writes the parts of a date, each in a form drawn at random.
class Writer {
 public:
  Writer(sys_days date, Random& random) : date_(date), parts_(date), random_(random) {}

  std::string written() {
    switch (random_.below(10)) {
      case 0:
        return backwards({year(), " ", month(), " ", day()});
      case 1:
        return backwards({year(), ", ", day(), " ", month()});
      case 2:
        return text(month(), " the ", ordinal(number_of_day()), ' ', full_year());
      case 3:
        return backwards({year(), " ", month(), " of ", ordinal(number_of_day()), "the "});
      case 4:
        return backwards({day(), " ", month(), " ", text(full_year())});
      case 5:
        return backwards({year(), "-", month(), "-", day()});
      case 6:
        return text(full_year(), '/', number_of_month(), '/', number_of_day());
      case 7:
        return text(full_year(), '.', two_digits(number_of_month()), '.',
                    two_digits(number_of_day()));
      case 8:
        return text(full_year(), two_digits(number_of_month()), two_digits(number_of_day()));
      default:
        return backwards({text(full_year()), " ", month(), " ", day(), ", ", weekday()});
    }
  }

 private:
  int number_of_day() const { return static_cast<int>(static_cast<unsigned>(parts_.day())); }
  int number_of_month() const { return static_cast<int>(static_cast<unsigned>(parts_.month())); }
  int full_year() const { return static_cast<int>(parts_.year()); }

  std::string year() {
    bool short_year = 1970 <= full_year() && full_year() < 2070 && random_.below(3) == 0;
    return short_year ? text('\'', two_digits(full_year() % 100)) : text(full_year());
  }
  std::string day() {
    switch (random_.below(3)) {
      case 0:
        return ordinal(number_of_day());
      case 1:
        return two_digits(number_of_day());
      default:
        return std::to_string(number_of_day());
    }
  }
  std::string month() { return cased(months[number_of_month() - 1]); }
  std::string weekday() { return cased(weekdays[std::chrono::weekday(date_).c_encoding()]); }
  /// Returns the name or its first three letters, sometimes in lower or upper case.
  std::string cased(const std::string& name) {
    std::string form = random_.below(2) == 0 ? name : name.substr(0, 3);
    switch (random_.below(5)) {
      case 0:
        return lower(form);
      case 1:
        return upper(form);
      default:
        return form;
    }
  }

  sys_days date_;
  year_month_day parts_;
  Random& random_;
};

std::string iso(const year_month_day& date) {
  return text(static_cast<int>(date.year()), '-',
              two_digits(static_cast<int>(static_cast<unsigned>(date.month()))), '-',
              two_digits(static_cast<int>(static_cast<unsigned>(date.day()))));
}

}  // namespace

std::vector<Row> written_dates(int64_t count) {
  using namespace std::chrono;
  sys_days first = year_month_day(year(1900), January, day(1));
  sys_days last = year_month_day(year(2099), December, day(31));
  std::vector<int64_t> days(static_cast<size_t>((last - first).count() + 1));
  std::iota(days.begin(), days.end(), 0);
  // The dates have a generator of their own, so they do not depend on a run's seed.
  Random random{.seed = 1582};
  std::vector<Row> rows;
  for (int64_t n = 0; n < std::min<int64_t>(count, std::ssize(days)); ++n) {
    std::swap(days[static_cast<size_t>(n)],
              days[static_cast<size_t>(n + random.below(std::ssize(days) - n))]);
    sys_days date = first + std::chrono::days(days[static_cast<size_t>(n)]);
    rows.push_back({Writer(date, random).written(), iso(year_month_day(date)), n + 1});
  }
  return rows;
}

}  // namespace seq2seq
