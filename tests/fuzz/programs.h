#pragma once

// The commands of char_lm and seq2seq that read checkpoints, run in this process.

#include <string>
#include <vector>

namespace fuzz {

/// What a command did.
struct Outcome {
  int status;
  std::string output;
};

/// Runs the program "char_lm" or "seq2seq" with these arguments, `input` being its standard input.
/// Ends the process unless it either succeeds, or fails with the status 1 or 2 and one line on
/// standard error that begins with its name. Neither that line nor what is skipped on the way may
/// hold control characters, or a message of a library that the user has never heard of.
Outcome run(const std::string& program, const std::vector<std::string>& arguments,
            const std::string& input = "");

/// Ends the process if a terminal would obey what is in the text.
void expect_no_control_characters(const std::string& text);

}  // namespace fuzz
