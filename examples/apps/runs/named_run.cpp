#include "named_run.h"

#include <filesystem>
#include <map>

#include "core/errors.h"
#include "out_folder.h"

namespace apps {

namespace {

bool is_file(const std::string& run) {
  std::error_code error;
  return std::filesystem::is_regular_file(run, error);
}

/// Returns the only safetensors file of a folder, or an empty string if there are none or several.
std::string only_model_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
  return found.size() == 1 ? found.front() : "";
}

/// Whether the file is one of those that a training writes into its folder.
bool belongs_to_folder(const std::string& file) {
  std::string stem = std::filesystem::path(file).stem();
  return stem == "best" || stem == "last" || stem == "metrics";
}

}  // namespace

std::string checkpoint_of(const std::string& run, const std::string& name) {
  if (!is_file(run)) {
    std::string path = RunFolder{run}.checkpoint(name), only = only_model_in(run);
    return is_file(path) || only.empty() || belongs_to_folder(only) ? path : only;
  }
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
    bool named_by_itself = is_file(run) && !belongs_to_folder(run);
    result.push_back(named_by_itself
                         ? std::filesystem::path(run).stem()
                         : std::filesystem::weakly_canonical(folder_of(run)).filename());
    ++uses[result.back()];
  }
  for (size_t n = 0; n < runs.size(); ++n)
    if (uses[result[n]] > 1) result[n] = runs[n];
  return result;
}

}  // namespace apps
