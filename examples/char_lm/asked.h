#pragma once

#include <CLI/CLI.hpp>
#include <set>
#include <string>

#include "config_file.h"
#include "flags.h"
#include "saved_flags.h"

namespace char_lm {

/// What a command that trains was asked for.
template <class Flags>
struct Asked {
  Flags flags{};
  /// Those that came from the command line or the config file.
  std::set<std::string> given{};
  std::string config{}, init_from{};
  bool resume = false;

  /// Adds all of it to the command. The help calls `data` what is trained on, and `vocabulary` what
  /// a model knows of it; `free` are the flags that may change when a run goes on.
  void add_to(CLI::App& app, const std::string& data, const std::string& vocabulary,
              const std::set<std::string>& free) {
    flags.visit(
        [&](const std::string& name, auto& value, auto unit, const std::string& description) {
          add_flag(app, name, value, unit, description);
        });
    add_flag(app, "config", config, "FILE",
             "flags as a JSON object, {\"n_layer\": 2}; those given beside it win (default: none)");
    CLI::Option* start = add_flag(
        app, "init_from", init_from, "CHECKPOINT",
        "begin with the weights and the " + vocabulary +
            " of this file; flags that decide those are its own (default: none)");
    add_resume_flag(app, resume, free, data)->excludes(start);
  }

  /// To be called when the command line has been read: what was given, there and in the config.
  void read(const CLI::App& app) {
    flags.visit([&](const std::string& name, auto&&...) {
      if (app.count("--" + name) > 0) given.insert(name);
    });
    if (!config.empty()) given.merge(read_config(config, given, flags));
  }
};

}  // namespace char_lm
