#include "saved_flags.h"

#include "shiftgrad/core/errors.h"

namespace char_lm {

CLI::Option* add_resume_flag(CLI::App& app, bool& resume, const std::set<std::string>& free,
                             const std::string& data) {
  app.footer(
      "SIGINT, SIGTERM and SIGHUP save a checkpoint after the step under way and then end the "
      "program (status 130, 143 or 129); a second one ends it at once. In a build with MPI, the "
      "processes that mpirun starts train one model.");
  std::string listed;
  for (const std::string& name : free) listed += (listed.empty() ? "--" : ", --") + name;
  return app.add_flag("--resume", resume,
                      "go on with the run in --out_dir from its last checkpoint, bit for bit and "
                      "with its flags; of the others only these may change: " +
                          listed + " (the same " + data + " in another place)");
}

CLI::Option* add_overwrite_flag(CLI::App& app, bool& overwrite, const std::string& replaced) {
  return app.add_flag("--overwrite", overwrite, "replace " + replaced + "; without it, it is kept");
}

void check_same_flag(const std::string& name, const nlohmann::json& wanted,
                     const nlohmann::json& saved, const std::string& source) {
  shiftgrad::require(wanted == saved, "--", name, " ", wanted, ": that of ", source, " is ", saved,
                     " and has to stay");
}

}  // namespace char_lm
