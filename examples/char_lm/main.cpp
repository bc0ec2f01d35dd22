// char_lm: trains character-level language models, scores them and lets them write.

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "core/parallel.h"
#include "flags.h"

namespace {

constexpr int success = 0, failure = 1, bad_input = 2;

int complain(std::string line, int status) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::cerr << "char_lm: " << line << std::endl;
  return status;
}

int run(const char_lm::Command& command) {
  char_lm::Command::Work work;
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
      "Character-level language models: train one, score it, let it write, compare it to others, "
      "look into it.",
      "char_lm"};
  program.footer(
      "Exit status: 0 done; 1 failed under way; 2 bad flags or bad input, nothing was written; 130 "
      "and 143 ended by SIGINT and SIGTERM, before which train saves a checkpoint.");
  std::vector commands = {char_lm::train_command(program),     char_lm::eval_command(program),
                          char_lm::generate_command(program),  char_lm::compare_command(program),
                          char_lm::inspect_command(program),   char_lm::plot_command(program),
                          char_lm::attention_command(program), char_lm::positions_command(program),
                          char_lm::context_command(program)};
  try {
    program.parse(count, arguments);
  } catch (const CLI::CallForHelp& help) {
    return program.exit(help);
  } catch (const CLI::ExtrasError&) {
    std::vector<CLI::App*> chosen = program.get_subcommands();
    return complain(char_lm::unexpected_argument(chosen.empty() ? program : *chosen.front()),
                    bad_input);
  } catch (const CLI::ParseError& error) {
    return complain(error.what(), bad_input);
  }
  for (const char_lm::Command& command : commands)
    if (command.flags->parsed()) return run(command);
  return complain(
      "expected train, eval, generate, compare, inspect, plot, attention, positions or context; "
      "--help explains them",
      bad_input);
}
