// study answers requests from its input, one on each line, and stops at its end: what a page asks,
// in a terminal.

#include <iostream>
#include <string>

#include "shiftgrad/core/machine/parallel.h"
#include "study.h"

int main() {
  shiftgrad::initialize();
  book::Study study;
  for (std::string request; std::getline(std::cin, request);)
    std::cout << book::answer_text(study, request) << std::endl;
}
