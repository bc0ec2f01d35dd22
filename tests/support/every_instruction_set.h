#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "core/machine/simd.h"

namespace shiftgrad::test {

/// Runs the test on every instruction set of this CPU.
inline void on_every_instruction_set(const std::function<void()>& test) {
  auto sets = simd::instruction_sets();
  REQUIRE(!sets.empty());
  for (const std::string& set : sets) {
    CAPTURE(set);
    simd::use_instruction_set(set);
    test();
  }
  simd::use_instruction_set(sets.front());
}

}  // namespace shiftgrad::test
