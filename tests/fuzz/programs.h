#pragma once

// All commands of char_lm and seq2seq, run in this process.

#include <string>
#include <vector>

#include "examples/apps/flags/program.h"

namespace fuzz {

/// The commands of the program, added to it.
std::vector<apps::Command> commands(const std::string& program, CLI::App& app);

/// What a command did.
struct Outcome {
  int status;
  std::string output, errors;
};

/// Runs the program "char_lm" or "seq2seq" with these arguments, `input` being its standard input.
/// Ends the process unless it either succeeds, or fails with the status 1 or 2 and one line on
/// standard error that begins with its name. Neither that line nor what is skipped on the way may
/// hold control characters, or a message of a library that the user has never heard of. With status
/// 2, no file below the working folder has changed; nor with status 1, unless it was a training.
Outcome run(const std::string& program, const std::vector<std::string>& arguments,
            const std::string& input = "");

/// Ends the process if a terminal would obey what is in the text.
void expect_no_control_characters(const std::string& text);

}  // namespace fuzz
