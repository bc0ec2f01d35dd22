#include "saved_flags.h"

#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "examples/apps/runs/stop_request.h"

namespace apps {

namespace {

/// Throws, naming the flag, unless its wanted value is the saved value. `reason` ends the message.
void check_same_flag(const std::string& name, const nlohmann::json& wanted,
                     const nlohmann::json& saved, const std::string& source,
                     const std::string& reason) {
  shiftgrad::require(wanted == saved, "--", name, " ", wanted, ": must stay ", saved, ", as in ",
                     source, reason);
}

const std::string decided_by_weights = ", whose weights depend on it";

}  // namespace

CLI::Option* add_resume_flag(CLI::App& app, bool& resume, const std::set<std::string>& free,
                             const std::string& data) {
  set_footer(app,
             "On a signal to stop, the program finishes the current batch, saves a checkpoint and "
             "exits with status " +
                 stop_statuses() +
                 "; a second SIGINT, SIGTERM or SIGUSR1 ends it at once. "
                 "In a build with MPI, the processes that mpirun starts train one model together.");
  std::string listed;
  for (const std::string& name : free) listed += (listed.empty() ? "--" : ", --") + name;
  return add_switch(
      app, "resume", resume,
      "continue the run in --out_dir from its last checkpoint, bit for bit and with "
      "its flags; only these flags may change: " +
          listed + " (the files may move, but the " + data + " must be the same" +
          (free.contains("block_size") ? "; lengths on which weights depend stay)" : ")"));
}

CLI::Option* add_overwrite_flag(CLI::App& app, bool& overwrite, const std::string& replaced) {
  return add_switch(app, "overwrite", overwrite,
                    "replace " + replaced + "; without this flag, nothing is replaced");
}

std::string resumed_json(const std::string& saved, const std::string& requested,
                         const std::set<std::string>& given, const ChangeableFlags& changeable,
                         const std::string& source) {
  auto flags = nlohmann::json::parse(saved), wanted = nlohmann::json::parse(requested);
  for (const std::string& name : given) {
    bool of_weights = changeable.of_weights.contains(name);
    if (!changeable.free.contains(name))
      check_same_flag(name, wanted[name], flags[name], source,
                      of_weights ? decided_by_weights
                                 : "; a new run can change it: --init_from " + source +
                                       " --out_dir NEW_FOLDER");
    flags[name] = wanted[name];
  }
  flags["out_dir"] = wanted["out_dir"];
  return flags.dump();
}

std::string started_json(const std::string& saved, const std::string& requested,
                         const std::set<std::string>& given, const ChangeableFlags& changeable,
                         const std::string& source) {
  auto flags = nlohmann::json::parse(requested), decided = nlohmann::json::parse(saved);
  for (const std::string& name : changeable.of_weights) {
    if (given.contains(name) && changeable.free.contains(name)) continue;
    if (given.contains(name))
      check_same_flag(name, flags[name], decided[name], source, decided_by_weights);
    flags[name] = decided[name];
  }
  return flags.dump();
}

}  // namespace apps
