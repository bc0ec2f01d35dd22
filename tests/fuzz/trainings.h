#pragma once

// Tiny trainings, whose files are what other commands read.

#include <string>
#include <vector>

#include "tests/fuzz/mutator.h"
#include "tests/fuzz/programs.h"

namespace fuzz {

/// Writes "text", which both programs can train on: a row of pairs a line, in a few characters.
void write_training_text();

/// Trains for two steps on that text, into the folder, with these flags besides.
Outcome train(const std::string& program, const std::string& folder,
              const std::vector<std::string>& flags);

/// The same, which ends the process where the training fails.
void expect_training(const std::string& program, const std::string& folder,
                     const std::vector<std::string>& flags = {});

/// The last checkpoint of such a training by one of the programs, with random flags.
std::string trained_checkpoint(Choices& choices);

}  // namespace fuzz
