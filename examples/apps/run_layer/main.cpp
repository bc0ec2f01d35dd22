// run_layer CASE.safetensors OUT.safetensors runs one layer forward and backward on given
// parameters and inputs, for comparison with another implementation.
//
//   CASE  metadata `layer` and `config` (JSON); tensors param.NAME, input.NAME, grad_output
//   OUT   output, grad.param.NAME, grad.input.NAME; for a language_model also loss and memory.L
//
// For a broken case, it prints one line on standard error, writes nothing, and exits with status 2.

#include <csignal>
#include <exception>
#include <iostream>
#include <string>

#include "core/machine/parallel.h"
#include "run_layer.h"

using namespace shiftgrad;

int main(int count, char** arguments) try {
  if (count != 3) {
    std::cerr << "usage: run_layer CASE.safetensors OUT.safetensors\n";
    return 2;
  }
  initialize();
  std::signal(SIGXFSZ, SIG_IGN);  // so that writing beyond a limit fails
  std::string path = arguments[1];
  auto run = [&] {
    Case given(path);
    return run_layer(given);
  };
  write_safetensors(arguments[2], within_memory(run, path).content);
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
