#pragma once

// What the programs themselves say that they take on a command line.

#include <string>
#include <vector>

#include "tests/fuzz/mutator.h"

namespace fuzz {

/// A flag or an argument of a command: its name, such as --length, and its unit, such as
/// CHARACTERS, or a|b; that of a switch is empty.
struct KnownFlag {
  std::string name, unit;
  bool required;
};

/// A command of a program.
struct KnownCommand {
  std::string program, name;
  std::vector<KnownFlag> flags, arguments;
};

/// All commands of both programs.
const std::vector<KnownCommand>& known_commands();

/// The one that the words of a command line name, or null.
const KnownCommand* known_command(const std::vector<std::string>& words);

/// Whether a command of this name trains.
bool trains(const std::string& name);

/// Flags with small values (affordable.h) for those that the words of a command line do not give.
std::vector<std::string> small_flags(const KnownCommand& command,
                                     const std::vector<std::string>& words);

/// About one in `times` of the command's flags that take a number, a truth value or a choice.
std::vector<std::string> some_flags(const KnownCommand& command, size_t times, Choices& choices);

/// A value for a flag or an argument of this unit, mostly one that it may have. Files and folders
/// are those in the working folder, or new ones.
std::string value_for(const std::string& unit, Choices& choices);

}  // namespace fuzz
