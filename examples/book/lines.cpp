// study [INSTRUCTION_SET] answers requests from its input, one on each line, and stops at its end:
// what a page asks, in a terminal. A build with -Dportable=true that computes with SSE4, whose
// vectors are as long as those of WebAssembly and multiply and add as these do, gives the same
// numbers to the bit.

#include <exception>
#include <iostream>
#include <string>

#include "core/machine/parallel.h"
#include "core/machine/simd.h"
#include "study.h"

int main(int count, char** arguments) try {
  shiftgrad::initialize();
  if (count > 1) shiftgrad::simd::use_instruction_set(arguments[1]);
  book::Study study;
  for (std::string request; std::getline(std::cin, request);)
    std::cout << book::answer_text(study, request) << std::endl;
} catch (const std::exception& error) {
  std::cerr << "study: " << error.what() << '\n';
  return 1;
}
