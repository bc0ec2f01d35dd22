#include "flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/errors.h"
#include "core/machine/precision.h"
#include "examples/apps/runs/machine.h"
#include "flag_value.h"
#include "near_name.h"
#include "nn/feed_forward.h"
#include "optim/trainer_config.h"

namespace apps {

using shiftgrad::Named;
using shiftgrad::require;
using shiftgrad::value_named;

namespace {

/// What CLI11 does with several values of a flag that takes one; check_given_once refuses them.
constexpr auto takes_one = CLI::MultiOptionPolicy::TakeLast;

/// Returns the command that the arguments name, or the program itself.
const CLI::App& command_of(const CLI::App& program, std::span<char* const> arguments) {
  for (const char* argument : arguments)
    for (const CLI::App* command : program.get_subcommands({}))
      if (command->get_name() == argument) return *command;
  return program;
}

/// Returns the flag in --NAME or --NAME=VALUE, or null.
const CLI::Option* flag_of(const CLI::App& app, const std::string& argument) {
  if (!argument.starts_with("--")) return nullptr;
  return app.get_option_no_throw(argument.substr(0, argument.find('=')));
}

/// Reads a value as it is typed. Returns what was expected instead, or an empty string.
template <class Value>
std::string parse_text(const std::string& typed, Value& value, const Field& field) {
  if constexpr (shiftgrad::is_optional<Value>) {
    return parse_text(typed, value.emplace(), field);
  } else if constexpr (Named<Value>) {
    if (!shiftgrad::is_name<Value>(typed)) return ", expected " + shiftgrad::all_names<Value>();
    value = value_named<Value>(typed);
  } else {
    // Read as widely as possible, so that a number that is too large is called just that.
    constexpr bool is_count = std::is_integral_v<Value> && std::is_signed_v<Value>;
    std::conditional_t<is_count, int64_t, Value> wide{};
    // CLI11 would wrap a negative number around, and replace one that is too large by the nearest.
    errno = 0;
    bool read = CLI::detail::lexical_cast(typed, wide) &&
                (std::is_same_v<Value, std::string> || !typed.empty());
    if constexpr (std::is_same_v<Value, uint64_t>) read = read && !typed.starts_with('-');
    if constexpr (std::is_integral_v<Value>) read = read && errno != ERANGE;
    if (!read) return shiftgrad::text(", expected ", shiftgrad::expected_type<Value>());
    if constexpr (is_count)
      if (!std::in_range<Value>(wide)) {
        std::string wrong = shiftgrad::value_error(wide, field);
        return wrong.empty() ? ", expected a smaller number" : wrong;
      }
    value = static_cast<Value>(wide);
  }
  return "";
}

/// Returns the value as it would be typed, or an empty string if it is absent.
template <class Value>
std::string printed(const Value& value) {
  if constexpr (shiftgrad::is_optional<Value>)
    return value ? printed(*value) : "";
  else
    return shiftgrad::text(std::boolalpha, value);
}

/// Returns the message about the first argument that the app does not have, with what may have been
/// meant, or an empty string.
std::string unexpected_argument(const CLI::App& app) {
  if (app.remaining().empty()) return "";
  std::string argument = app.remaining().front();
  std::vector<std::string> flags, commands;
  for (const CLI::Option* option : app.get_options())
    if (option->nonpositional()) flags.push_back(option->get_name());
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  auto hint = [&](const std::vector<std::string>& names, const std::string& otherwise) {
    std::string near = did_you_mean(argument, names);
    return near.empty() ? otherwise : near;
  };
  if (argument.starts_with("-")) {
    argument.erase(std::min(argument.find('='), argument.size()));
    std::string first =
        commands.empty() ? "" : "; expected a command first, such as " + commands[0];
    return argument + ": no such flag" + hint(flags, first);
  }
  if (!commands.empty())
    return argument + ": no such command" + hint(commands, "; --help lists the commands");
  bool data = app.get_option_no_throw("--data");
  return argument + ": unexpected argument" +
         (data ? ", did you mean --data " + argument + "?" : "");
}

/// Returns the message about the first argument that is missing, with what it is, or an empty
/// string.
std::string missing_argument(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->get_required() && option->count() == 0)
      return option->get_name() + " is required: " + option->get_description();
  return "";
}

/// Throws the message about the first of the commands given, or else about the app, that has one.
/// Returns if none has.
void fail_with(std::string message(const CLI::App&), const CLI::App& app) {
  std::vector<const CLI::App*> apps = {&app};
  for (const CLI::App* command : app.get_subcommands()) apps.insert(apps.end() - 1, command);
  for (const CLI::App* each : apps)
    if (std::string found = message(*each); !found.empty()) shiftgrad::fail(found);
}

/// Throws for a flag of one value that was given several. Lists take all of theirs, and a switch
/// may be repeated.
void check_given_once(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    bool takes_value = option->get_items_expected_max() > 0;
    bool is_list = option->get_multi_option_policy() != takes_one;
    require(option->count() < 2 || !takes_value || is_list, option->get_name(), ": given ",
            option->count(), " times, expected one value");
  }
}

}  // namespace

std::shared_ptr<CLI::App> make_program(const std::string& description, const std::string& name) {
  auto program = std::make_shared<CLI::App>(description, name);
  program->require_subcommand(0, 1);  // CLI11 would take the name of another one for that one
  auto version = [name] { return name + ' ' + SHIFTGRAD_VERSION + '\n' + machine_text(); };
  program->set_version_flag(
      "--version", version,
      "Print the version, and how many threads and how much memory there are here, and exit");
  return program;
}

CLI::App& add_command(CLI::App& program, const std::string& name, const std::string& description) {
  return *program.add_subcommand(name, description);
}

void set_footer(CLI::App& app, const std::string& text) { app.footer(text); }

void set_examples(CLI::App& app, const std::vector<std::string>& examples) {
  std::string list = "\nExamples:\n";
  for (const std::string& example : examples) list += "  " + example + '\n';
  app.formatter_fn([list](const CLI::App* command, std::string name, CLI::AppFormatMode mode) {
    std::string help = CLI::Formatter().make_help(command, std::move(name), mode);
    help.insert(help.find('\n') + 1, list + '\n');
    // CLI11 leaves two lines free between groups.
    for (size_t gap = 0; (gap = help.find("\n\n\n", gap)) != help.npos;) help.erase(gap, 1);
    return help;
  });
}

void set_group(CLI::Option* option, const std::string& title) { option->group(title); }

CLI::Option* add_argument(CLI::App& app, const std::string& name, std::string& value,
                          const std::string& description) {
  return app.add_option(name, value, description);
}

CLI::Option* add_argument(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& description) {
  return app.add_option(name, values, description);
}

template <class Value>
CLI::Option* add_flag(CLI::App& app, Value& value, const Field& field) {
  std::string name = "--" + std::string(field.name);
  auto set = [=, &value](const std::string& typed) {
    std::string wrong = flag_error(parse_text(typed, value, field), value, field, typed);
    require(wrong.empty(), name, ' ', typed, wrong);
  };
  CLI::Option* option = app.add_option_function<std::string>(name, set, field.help);
  option->default_function([&value] { return printed(value); });
  option->multi_option_policy(takes_one)->type_name(shiftgrad::unit_of<Value>(field));
  return option->capture_default_str();
}

template CLI::Option* add_flag(CLI::App&, bool&, const Field&);
template CLI::Option* add_flag(CLI::App&, std::optional<bool>&, const Field&);
template CLI::Option* add_flag(CLI::App&, shiftgrad::BatchType&, const Field&);
template CLI::Option* add_flag(CLI::App&, shiftgrad::OptimizerType&, const Field&);
template CLI::Option* add_flag(CLI::App&, shiftgrad::Precision&, const Field&);
template CLI::Option* add_flag(CLI::App&, std::optional<shiftgrad::Precision>&, const Field&);
template CLI::Option* add_flag(CLI::App&, shiftgrad::ScheduleType&, const Field&);
template CLI::Option* add_flag(CLI::App&, shiftgrad::Activation&, const Field&);
template CLI::Option* add_flag(CLI::App&, std::optional<shiftgrad::Activation>&, const Field&);
template CLI::Option* add_flag(CLI::App&, int&, const Field&);
template CLI::Option* add_flag(CLI::App&, int64_t&, const Field&);
template CLI::Option* add_flag(CLI::App&, std::optional<int64_t>&, const Field&);
template CLI::Option* add_flag(CLI::App&, uint64_t&, const Field&);
template CLI::Option* add_flag(CLI::App&, double&, const Field&);
template CLI::Option* add_flag(CLI::App&, std::optional<double>&, const Field&);
template CLI::Option* add_flag(CLI::App&, std::string&, const Field&);
template CLI::Option* add_flag(CLI::App&, std::optional<std::string>&, const Field&);

CLI::Option* add_list_flag(CLI::App& app, const std::string& name, std::vector<int64_t>& values,
                           const std::string& unit, const std::string& description,
                           const Range& range) {
  auto check = [=](const std::string& typed) {
    Field field{.of = {.range = range}};
    int64_t value = 0;
    std::string wrong = flag_error(parse_text(typed, value, field), value, field, typed);
    require(wrong.empty(), "--", name, ": ", typed, wrong);
    return "";
  };
  return app.add_option("--" + name, values, description)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name(unit)
      ->check(check);
}

CLI::Option* add_switch(CLI::App& app, const std::string& name, bool& value,
                        const std::string& description) {
  return app.add_flag("--" + name, value, description);
}

void add_picture_flags(CLI::App& app, std::string& out, bool& json,
                       const std::string& default_place) {
  CLI::Option* file = add_flag(app, "out", out, "FILE", "SVG file to write" + default_place);
  set_exclusive(add_switch(app, "json", json, "print the numbers as JSON, and draw nothing"), file);
}

void make_value_optional(CLI::App& app, const std::string& name) {
  CLI::Option* option = app.get_option("--" + name);
  option->option_text('[' + option->get_type_name() + "]=" + option->get_default_str());
  option->expected(0, 1)->default_str("true");
}

void set_required(CLI::Option* option) { option->required(); }
void set_exclusive(CLI::Option* option, CLI::Option* other) { option->excludes(other); }
void parse(CLI::App& app, std::vector<std::string> arguments) try {
  std::ranges::reverse(arguments);  // as CLI11 expects them
  app.parse(std::move(arguments));
  check_given_once(app);
  for (const CLI::App* command : app.get_subcommands()) check_given_once(*command);
} catch (const CLI::ExtrasError&) {
  fail_with(unexpected_argument, app);
  throw;
} catch (const CLI::RequiredError&) {
  fail_with(missing_argument, app);
  throw;
}

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

bool is_given(const CLI::App& app, const std::string& name) { return app.count("--" + name) > 0; }

std::optional<std::string> unit_of(const CLI::App& app, const std::string& name) {
  const CLI::Option* flag = app.get_option_no_throw("--" + name);
  if (!flag) return std::nullopt;
  return flag->get_type_name();
}

std::shared_ptr<shiftgrad::ThreadLimit> limit_threads(int threads) {
  return threads == 0 ? nullptr : std::make_shared<shiftgrad::ThreadLimit>(threads);
}

}  // namespace apps
