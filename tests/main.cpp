#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstring>

#include "core/machine/allocator.h"
#include "core/machine/parallel.h"
#include "tests/support/foreign_locale.h"

/// With --fresh-memory=nan, all tests run in memory that is full of NaN until it is written; with
/// --locale=foreign, in a program whose locale writes numbers in another way.
int main(int count, char** arguments) {
  shiftgrad::initialize();
  for (int n = 1; n < count; ++n) {
    if (std::strcmp(arguments[n], "--fresh-memory=nan") == 0) shiftgrad::fill_fresh_memory(true);
    if (std::strcmp(arguments[n], "--locale=foreign") == 0)
      std::locale::global(ForeignLocale::foreign());
  }
  return doctest::Context(count, arguments).run();
}
