#include "named_run.h"

#include <filesystem>
#include <map>

#include "out_folder.h"
#include "shiftgrad/core/errors.h"

namespace common {

namespace {

bool is_file(const std::string& run) {
  std::error_code error;
  return std::filesystem::is_regular_file(run, error);
}

}  // namespace

std::string checkpoint_of(const std::string& run, const std::string& name) {
  if (!is_file(run)) return RunFolder{run}.checkpoint(name);
  shiftgrad::require(name == "best" || std::filesystem::path(run).stem() == name, "--checkpoint ",
                     name, ": ", run, " is a file, expected the folder of the run");
  return run;
}

std::string folder_of(const std::string& run) {
  if (!is_file(run)) return run;
  std::filesystem::path folder = std::filesystem::path(run).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::vector<std::string> run_names(const std::vector<std::string>& runs) {
  std::vector<std::string> result;
  std::map<std::string, int> uses;
  for (const std::string& run : runs) {
    result.push_back(std::filesystem::weakly_canonical(folder_of(run)).filename());
    ++uses[result.back()];
  }
  for (size_t n = 0; n < runs.size(); ++n)
    if (uses[result[n]] > 1) result[n] = runs[n];
  return result;
}

}  // namespace common
