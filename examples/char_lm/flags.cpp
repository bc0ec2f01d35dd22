#include "flags.h"

#include "at_least.h"
#include "near_name.h"

namespace char_lm {

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
  check_at_least("--threads", threads, 0);
  return threads == 0 ? nullptr : std::make_shared<shiftgrad::ThreadLimit>(threads);
}

}  // namespace char_lm
