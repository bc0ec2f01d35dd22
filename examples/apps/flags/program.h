#pragma once

#include <functional>
#include <vector>

#include "flags.h"
#include "optim/peers/process_group.h"

namespace apps {

/// A subcommand. `prepare` reads and checks everything it needs, so that bad input is found before
/// anything is overwritten. The function that it returns does the work.
struct Command {
  using Work = std::function<void()>;
  CLI::App* flags;
  std::function<Work()> prepare;
  /// Whether it goes on where nobody reads what it prints any more, since it has files to write.
  /// Others then end by SIGPIPE.
  bool outlives_readers = false;
};

/// Opens any of the three standard streams that is closed, so that no other file takes its place.
/// Reading or writing it still fails. A program calls this first.
void keep_standard_streams();

/// Returns how a shell calls the program again: by its first argument, or by its name where it was
/// given none.
std::string called(const std::string& name, int count, char** arguments);

/// Flushes standard output. Throws unless everything printed has arrived there.
void flush_output();

/// Runs the command that the arguments name. A program without subcommands is itself the only
/// command. An error becomes one line on standard error and ends
/// all peers. On a terminal, what cannot be shown is printed as TerminalText does. Returns the exit
/// status: 0 for success, 1 for a failure during the work or while printing, 2 for bad flags or bad
/// input.
int run_program(CLI::App& program, const std::vector<Command>& commands, int count,
                char** arguments, shiftgrad::ProcessGroup& peers = shiftgrad::alone());

}  // namespace apps
