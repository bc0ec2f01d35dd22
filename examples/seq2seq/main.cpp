// seq2seq: trains encoder-decoders on pairs of lines, scores them and lets them translate.

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "core/parallel.h"

namespace {

constexpr int success = 0, failure = 1, bad_input = 2;

int complain(std::string line, int status) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::cerr << "seq2seq: " << line << std::endl;
  return status;
}

int run(const seq2seq::Command& command) {
  seq2seq::Command::Work work;
  try {
    work = command.prepare();
  } catch (const std::exception& error) {
    return complain(error.what(), bad_input);
  }
  try {
    // Gone, and its progress bar with it, by the time that an error is printed.
    std::exchange(work, {})();
  } catch (const std::exception& error) {
    return complain(error.what(), failure);
  }
  return success;
}

}  // namespace

int main(int count, char** arguments) {
  shiftgrad::initialize();
  CLI::App program{
      "Encoder-decoders from a line to a line: train one, score it, let it translate, see what it "
      "attends to.",
      "seq2seq"};
  program.footer(
      "Exit status: 0 done; 1 failed under way; 2 bad flags or bad input, nothing was written; 130 "
      "and 143 ended by SIGINT and SIGTERM, before which train saves a checkpoint.");
  std::vector commands = {seq2seq::train_command(program), seq2seq::eval_command(program),
                          seq2seq::translate_command(program), seq2seq::attention_command(program)};
  try {
    program.parse(count, arguments);
  } catch (const CLI::CallForHelp& help) {
    return program.exit(help);
  } catch (const CLI::ParseError& error) {
    return complain(error.what(), bad_input);
  }
  for (const seq2seq::Command& command : commands)
    if (command.flags->parsed()) return run(command);
  return complain("expected train, eval, translate or attention; see --help", bad_input);
}
