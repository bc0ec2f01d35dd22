#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "shiftgrad/optim/peers/peers.h"

namespace char_lm {

/// A subcommand. `prepare` reads and checks all it needs, so that bad input is found before
/// anything is overwritten; what it returns does the work.
struct Command {
  using Work = std::function<void()>;
  CLI::App* flags;
  std::function<Work()> prepare;
};

/// Opens those of the three standard streams that are closed, so that no file is taken for one of
/// them; reading and writing them still fails. The first that a program does.
void keep_standard_streams();

/// Throws unless all that was printed has arrived at standard output.
void flush_output();

/// Opens those of the three standard streams that are closed, so that no file is taken for one of
/// them; reading and writing them still fails. A program does this first.
void keep_standard_streams();

/// Throws unless all that was printed has arrived at standard output.
void flush_output();

/// Runs the command that the arguments name. What goes wrong becomes one line on standard error,
/// and ends all peers. Returns the exit status: 0 done, 1 failed under way or to print, 2 bad flags
/// or bad input.
int run_program(CLI::App& program, const std::vector<Command>& commands, int count,
                char** arguments, shiftgrad::Peers& peers = shiftgrad::alone());

}  // namespace char_lm
