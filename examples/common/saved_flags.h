#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace char_lm {

/// Adds --resume to a command that trains on `data`, and what its help says of signals and
/// processes. `free`: the flags that may change when a run goes on, for they do not change its
/// course.
CLI::Option* add_resume_flag(CLI::App& app, bool& resume, const std::set<std::string>& free,
                             const std::string& data);

/// Adds --overwrite, for what a command would replace.
CLI::Option* add_overwrite_flag(CLI::App& app, bool& overwrite, const std::string& replaced);

/// Throws, naming the flag, unless what is wanted of it is what was saved.
void check_same_flag(const std::string& name, const nlohmann::json& wanted,
                     const nlohmann::json& saved, const std::string& source);

/// The flags of the saved run with those of `asked` that were `given`. Throws, naming the flag,
/// when one of these differs that is not free.
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

/// The flags of `asked` for a model that starts with saved weights, which decide those
/// `of_weights`. Throws, naming the flag, when another of these was `given`.
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
