#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace fuzz {

/// Ends the process unless the condition holds, upon which the fuzzer keeps the input.
inline void expect(bool condition, std::string_view what) {
  if (condition) return;
  std::cerr << "expected " << what << std::endl;
  std::abort();
}

}  // namespace fuzz
