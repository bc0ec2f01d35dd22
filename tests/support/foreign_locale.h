#pragma once

#include <locale>
#include <string>

/// Numbers as no text of the library may have them: a comma before the decimals, and a point
/// between any two digits before it. 12.5 is 1.2,5.
struct ForeignNumbers : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
};

/// The program's locale has such numbers as long as this lives.
class ForeignLocale {
 public:
  ForeignLocale() : before_(std::locale::global(foreign())) {}
  ~ForeignLocale() { std::locale::global(before_); }
  ForeignLocale(const ForeignLocale&) = delete;
  ForeignLocale& operator=(const ForeignLocale&) = delete;

  static std::locale foreign() { return {std::locale::classic(), new ForeignNumbers}; }

 private:
  std::locale before_;
};
