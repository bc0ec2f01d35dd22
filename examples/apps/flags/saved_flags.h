#pragma once

#include <set>
#include <string>

#include "flags.h"

namespace apps {

/// Adds --resume to a command that trains on `data`, and its help about signals and processes.
/// `free` are the flags that may change when a run is resumed, since they do not change its course.
CLI::Option* add_resume_flag(CLI::App& app, bool& resume, const std::set<std::string>& free,
                             const std::string& data);

/// Adds --overwrite to a command that would replace `replaced`.
CLI::Option* add_overwrite_flag(CLI::App& app, bool& overwrite, const std::string& replaced);

/// Which flags may change when training goes on.
struct ChangeableFlags {
  /// Flags that the weights of a run decide. One that is free, too, may change as far as no weight
  /// depends on it, which the program checks.
  std::set<std::string> of_weights;
  /// Flags that may change when a run is resumed.
  std::set<std::string> free;
};

/// Returns the flags of the saved run, with those of `requested` that were `given`, as JSON
/// objects. Throws, naming the flag, when a given flag differs that is not free.
std::string resumed_json(const std::string& saved, const std::string& requested,
                         const std::set<std::string>& given, const ChangeableFlags& changeable,
                         const std::string& source);

/// Returns the flags of `requested` for a model that starts with saved weights, as JSON objects.
/// The weights decide the flags `of_weights`. Throws, naming the flag, when one of those was
/// `given` with another value and is not free.
std::string started_json(const std::string& saved, const std::string& requested,
                         const std::set<std::string>& given, const ChangeableFlags& changeable,
                         const std::string& source);

template <class Flags>
Flags resumed_flags(const Flags& saved, const Flags& requested, const std::set<std::string>& given,
                    const ChangeableFlags& changeable, const std::string& source) {
  return Flags::from_json(
      resumed_json(saved.to_json(), requested.to_json(), given, changeable, source), source);
}

template <class Flags>
Flags started_flags(const Flags& saved, const Flags& requested, const std::set<std::string>& given,
                    const ChangeableFlags& changeable, const std::string& source) {
  return Flags::from_json(
      started_json(saved.to_json(), requested.to_json(), given, changeable, source), source);
}

}  // namespace apps
