#pragma once

// The arguments and flags of a program and its commands. Only flags.cpp and program.cpp include
// CLI11: compiling it takes longer than compiling the rest of a command.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/field.h"
#include "core/machine/parallel.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace apps {

using shiftgrad::Field;
using shiftgrad::Range;
namespace range = shiftgrad::range;

std::shared_ptr<CLI::App> make_program(const std::string& description, const std::string& name);
CLI::App& add_command(CLI::App& program, const std::string& name, const std::string& description);
/// Adds a text below the flags in --help.
void set_footer(CLI::App& app, const std::string& text);

/// Adds a list of command lines below the first line of --help.
void set_examples(CLI::App& app, const std::vector<std::string>& examples);

/// Lists the flag below this title in --help.
void set_group(CLI::Option* option, const std::string& title);

/// Adds an argument that has no name before it: one value, or as many as are given.
CLI::Option* add_argument(CLI::App& app, const std::string& name, std::string& value,
                          const std::string& description);
CLI::Option* add_argument(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& description);

/// Adds a flag whose value starts at its default. --help shows the flag, its default and its unit.
/// It is refused if it is given twice. flags.cpp lists the types that a value may have.
template <class Value>
CLI::Option* add_flag(CLI::App& app, Value& value, const Field& field);
template <class Value>
CLI::Option* add_flag(CLI::App& app, const char* name, Value& value, const char* unit,
                      const std::string& description, const Range& range = range::any) {
  return add_flag(app, value, Field{name, description, {unit, range}});
}

/// Adds a flag whose value is a list of numbers, separated by commas.
CLI::Option* add_list_flag(CLI::App& app, const std::string& name, std::vector<int64_t>& values,
                           const std::string& unit, const std::string& description,
                           const Range& range);

/// Adds a flag without a value. It is true if it is given.
CLI::Option* add_switch(CLI::App& app, const std::string& name, bool& value,
                        const std::string& description);

/// Adds --out for an SVG file, and --json, which prints the numbers and draws nothing.
void add_picture_flags(CLI::App& app, std::string& out, bool& json,
                       const std::string& default_place = "");

/// Lets a flag that is true or false come without a value, which means true; --help shows [BOOL].
void make_value_optional(CLI::App& app, const std::string& name);
/// Refuses a command line without the option.
void set_required(CLI::Option* option);
/// Refuses a command line with both options.
void set_exclusive(CLI::Option* option, CLI::Option* other);

/// Reads the arguments, without the program's name. Throws at the first argument that makes no
/// sense, and says what may have been meant.
void parse(CLI::App& app, std::vector<std::string> arguments);

/// Throws for a flag that has no value, because nothing or another flag follows it.
void check_values_given(const CLI::App& program, std::span<char* const> arguments);

/// Whether the flag was among the arguments.
bool is_given(const CLI::App& app, const std::string& name);

/// Returns the unit of the app's flag, or nothing if it has no such flag.
std::optional<std::string> unit_of(const CLI::App& app, const std::string& name);

/// What the help of --threads says.
inline constexpr const char* threads_help =
    "threads to use, 0 for one per CPU that this process may use, at most the whole CPUs of its "
    "container's quota: --version says how many";

/// Returns an object that limits the number of threads as --threads asks, as long as it lives. For
/// 0, which means as many as thread_count says by itself, it is null.
std::shared_ptr<shiftgrad::ThreadLimit> limit_threads(int threads);

}  // namespace apps
