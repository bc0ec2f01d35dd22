#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "core/machine/parallel.h"

int main(int count, char** arguments) {
  shiftgrad::initialize();
  return doctest::Context(count, arguments).run();
}
