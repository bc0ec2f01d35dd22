#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "config_file.h"
#include "examples/apps/runs/named_run.h"
#include "examples/apps/runs/out_folder.h"
#include "flag_groups.h"
#include "flags.h"
#include "saved_flags.h"

namespace apps {

/// Request for a training: its flags, and how the run begins.
template <class Flags>
struct TrainRequest {
  Flags flags{};
  /// Names of the flags given on the command line or in the config file.
  std::set<std::string> given{};
  std::string config{}, init_from{};
  bool resume = false, overwrite = false;

  /// Adds all these flags to the command. In the help, `data` names what is trained on, and
  /// `vocabulary` what a model knows of it. `free` are the flags that may change when a run is
  /// resumed.
  void add_to(CLI::App& app, const std::string& data, const std::string& vocabulary,
              const std::set<std::string>& free) {
    flags.visit([&](auto& value, const Field& field) {
      shiftgrad::require(*field.group, "--", field.name, ": a flag of a training without a group");
      set_group(add_flag(app, value, field), field.group);
    });
    CLI::Option* file =
        add_flag(app, "config", config, "FILE",
                 "JSON file of flags, such as {\"n_layer\": 2}; flags on the command line win "
                 "(default: none)");
    CLI::Option* start = add_flag(app, "init_from", init_from, "CHECKPOINT",
                                  "start from the weights and the " + vocabulary +
                                      " of this checkpoint, or of the best one in this folder, and "
                                      "take the model's flags from it (default: none)");
    CLI::Option* go_on = add_resume_flag(app, resume, free, data);
    set_exclusive(go_on, start);
    CLI::Option* replace =
        add_overwrite_flag(app, overwrite, "the run in --out_dir, if there is one");
    set_exclusive(replace, go_on);
    for (CLI::Option* option : {file, start, go_on, replace})
      set_group(option, shiftgrad::group::run);
  }

  /// Notes which flags were given, and reads the config file. Call it after the command line has
  /// been parsed.
  void read(const CLI::App& app) {
    flags.visit([&](auto&, const Field& field) {
      if (is_given(app, field.name)) given.insert(field.name);
    });
    if (!config.empty()) given.merge(read_config(config, given, flags));
  }
};

/// Returns the requested training: a new run, a run that begins with the weights of another, or a
/// resumed run. `load(path)` reads a checkpoint. make(flags, saved, folder) makes a
/// training that begins with the saved weights, or with new ones if `saved` is null. It calls
/// folder() to make the run's folder once everything else is known to be good.
template <class Training, class Flags, class Load, class Make>
std::unique_ptr<Training> prepare(const TrainRequest<Flags>& request,
                                  const ChangeableFlags& changeable, shiftgrad::ProcessGroup& peers,
                                  Load load, Make make) {
  std::unique_ptr<Training> training;
  Flags flags = request.flags;
  flags.resolve_defaults();
  auto new_folder = [&] {
    return new_run_folder(flags.out_dir, request.overwrite, ", --resume continues it", peers);
  };
  if (request.resume) {
    // Lock the folder before reading it, so that no other process resumes from the same checkpoint.
    RunFolder folder = lock_run_folder(flags.out_dir, peers);
    auto saved = load(folder.checkpoint("last"));
    flags = resumed_flags(saved.flags, flags, request.given, changeable, saved.source);
    flags.resolve_defaults();
    training = make(flags, &saved, [&] { return folder; });
    training->resume(saved);
  } else if (!request.init_from.empty()) {
    bool folder = std::filesystem::is_directory(request.init_from);
    auto saved = load(folder ? checkpoint_of(request.init_from, "best") : request.init_from);
    flags = started_flags(saved.flags, flags, request.given, changeable, saved.source);
    flags.resolve_defaults();
    training = make(flags, &saved, new_folder);
  } else {
    training = make(flags, nullptr, new_folder);
  }
  training->check_peers();
  return training;
}

}  // namespace apps
