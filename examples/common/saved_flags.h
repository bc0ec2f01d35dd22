#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace char_lm {

/// Adds --resume to a command that trains on `data`, and its help about signals and processes.
/// `free` are the flags that may change when a run is resumed, since they do not change its course.
CLI::Option* add_resume_flag(CLI::App& app, bool& resume, const std::set<std::string>& free,
                             const std::string& data);

/// Adds --overwrite to a command that would replace `replaced`.
CLI::Option* add_overwrite_flag(CLI::App& app, bool& overwrite, const std::string& replaced);

/// Throws, naming the flag, unless the wanted value equals the saved one.
void check_same_flag(const std::string& name, const nlohmann::json& wanted,
                     const nlohmann::json& saved, const std::string& source);

/// Returns the flags of the saved run, with those of `asked` that were `given`. Throws, naming the
/// flag, when a given flag differs that is not free.
template <class Flags>
Flags resumed_flags(const Flags& saved, const Flags& asked, const std::set<std::string>& given,
                    const std::set<std::string>& free, const std::string& source) {
  auto flags = nlohmann::json::parse(saved.to_json());
  auto wanted = nlohmann::json::parse(asked.to_json());
  for (const std::string& name : given) {
    if (!free.contains(name)) check_same_flag(name, wanted[name], flags[name], source);
    flags[name] = wanted[name];
  }
  flags["out_dir"] = asked.out_dir;
  return Flags::from_json(flags.dump(), source);
}

/// Returns the flags of `asked` for a model that starts with saved weights, which decide the flags
/// `of_weights`. Throws, naming the flag, when one of those was `given` with another value.
template <class Flags>
Flags started_flags(const Flags& saved, const Flags& asked, const std::set<std::string>& given,
                    const std::set<std::string>& of_weights, const std::string& source) {
  auto flags = nlohmann::json::parse(asked.to_json());
  auto decided = nlohmann::json::parse(saved.to_json());
  for (const std::string& name : of_weights) {
    if (given.contains(name)) check_same_flag(name, flags[name], decided[name], source);
    flags[name] = decided[name];
  }
  return Flags::from_json(flags.dump(), source);
}

}  // namespace char_lm
