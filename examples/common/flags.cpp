#include "flags.h"

#include "near_name.h"

namespace char_lm {

using shiftgrad::require;

namespace {

/// Returns the command that the arguments name, or the program itself.
const CLI::App& command_of(const CLI::App& program, std::span<char* const> arguments) {
  for (const char* argument : arguments)
    for (const CLI::App* command : program.get_subcommands({}))
      if (command->get_name() == argument) return *command;
  return program;
}

/// Returns the flag that --NAME or --NAME=VALUE means, or null.
const CLI::Option* flag_of(const CLI::App& app, const std::string& argument) {
  if (!argument.starts_with("--")) return nullptr;
  return app.get_option_no_throw(argument.substr(0, argument.find('=')));
}

}  // namespace

void check_values_given(const CLI::App& program, std::span<char* const> arguments) {
  const CLI::App& app = command_of(program, arguments);
  for (size_t n = 0; n < arguments.size() && arguments[n] != std::string("--"); ++n) {
    std::string argument = arguments[n];
    const CLI::Option* flag = flag_of(app, argument);
    if (!flag || flag->get_items_expected_min() == 0) continue;
    bool joined = argument.find('=') != argument.npos;
    bool given = joined ? !argument.ends_with('=')
                        : n + 1 < arguments.size() && !flag_of(app, arguments[n + 1]);
    std::string name = flag->get_name();
    require(given, name, ": no value, expected ", name, '=', flag->get_type_name());
    if (!joined) ++n;
  }
}

std::string unexpected_argument(const CLI::App& app) {
  std::string argument = app.remaining().front();
  std::vector<std::string> flags, commands;
  for (const CLI::Option* option : app.get_options())
    if (option->nonpositional()) flags.push_back(option->get_name());
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  if (argument.starts_with("-")) {
    argument.erase(std::min(argument.find('='), argument.size()));
    return argument + ": no such flag" + did_you_mean(argument, flags);
  }
  if (commands.empty()) return argument + ": not expected here";
  return argument + ": no such command" + did_you_mean(argument, commands);
}

std::shared_ptr<shiftgrad::ThreadLimit> limit_threads(int threads) {
  return threads == 0 ? nullptr : std::make_shared<shiftgrad::ThreadLimit>(threads);
}

}  // namespace char_lm
