#include "program.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

#include "core/errors.h"
#include "flags.h"
#include "printable.h"

namespace char_lm {

using shiftgrad::Peers;

namespace {

constexpr int success = 0, failure = 1, bad_input = 2;

int complain(const CLI::App& program, std::string line, int status, Peers& peers) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (peers.rank() > 0) line = shiftgrad::text("rank ", peers.rank(), ": ", line);
  if (peers.speaks_for_failed())
    std::cerr << program.get_name() << ": " << printable(line, longest_line) << std::endl;
  peers.end_waiting(status);
  return status;
}

/// Does the work, which is not done before all that it printed has arrived.
int finish(const CLI::App& program, Command::Work work, Peers& peers) {
  try {
    // Gone, and its progress bar with it, by the time that an error is printed.
    std::exchange(work, {})();
    flush_output();
  } catch (const std::exception& error) {
    return complain(program, error.what(), failure, peers);
  }
  return success;
}

int run(const CLI::App& program, const Command& command, Peers& peers) {
  Command::Work work;
  try {
    work = command.prepare();
  } catch (const std::exception& error) {
    return complain(program, error.what(), bad_input, peers);
  }
  return finish(program, std::move(work), peers);
}

/// "train, eval or generate"
std::string listed(const std::vector<Command>& commands) {
  std::string list;
  for (size_t n = 0; n < commands.size(); ++n)
    list += (n == 0 ? "" : n + 1 < commands.size() ? ", " : " or ") + commands[n].flags->get_name();
  return list;
}

}  // namespace

void keep_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // What is opened has the lowest number that is free, and cannot be used in the stream's way.
    bool is_closed = ::fcntl(stream, F_GETFD) < 0 && errno == EBADF;
    if (is_closed && ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void flush_output() {
  std::cout.flush();
  shiftgrad::require(std::cout.good(), "standard output: cannot be written");
}

int run_program(CLI::App& program, const std::vector<Command>& commands, int count,
                char** arguments, Peers& peers) {
  program.footer(
      "Exit status: 0 done; 1 failed under way; 2 bad flags or bad input, nothing was written; "
      "129, 130 and 143 ended by SIGHUP, SIGINT and SIGTERM, before which train saves a checkpoint.");
  try {
    program.parse(count, arguments);
  } catch (const CLI::CallForHelp& help) {
    return finish(
        program, [&] { program.exit(help); }, peers);
  } catch (const CLI::ExtrasError&) {
    std::vector<CLI::App*> chosen = program.get_subcommands();
    return complain(program, unexpected_argument(chosen.empty() ? program : *chosen.front()),
                    bad_input, peers);
  } catch (const CLI::ParseError& error) {
    return complain(program, error.what(), bad_input, peers);
  }
  for (const Command& command : commands)
    if (command.flags->parsed()) return run(program, command, peers);
  return complain(program, "expected " + listed(commands) + "; --help explains them", bad_input,
                  peers);
}

}  // namespace char_lm
