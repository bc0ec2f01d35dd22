// copy_safetensors FROM TO: reads a file and writes what is in it.

#include <exception>
#include <iostream>

#include "core/io/safetensors.h"

int main(int, char** arguments) try {
  shiftgrad::write_safetensors(arguments[2], shiftgrad::read_safetensors(arguments[1]));
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
