#include "run_folder.h"

#include <filesystem>
#include <map>

#include "examples/common/named_run.h"

namespace char_lm {

using common::checkpoint_of;
using common::folder_of;

std::vector<std::string> run_names(const std::vector<std::string>& out_dirs) {
  std::vector<std::string> result;
  std::map<std::string, int> uses;
  for (const std::string& out_dir : out_dirs) {
    result.push_back(std::filesystem::weakly_canonical(folder_of(out_dir)).filename());
    ++uses[result.back()];
  }
  for (size_t n = 0; n < out_dirs.size(); ++n)
    if (uses[result[n]] > 1) result[n] = out_dirs[n];
  return result;
}

SavedRun load_checkpoint(const std::string& path) {
  shiftgrad::Checkpoint checkpoint = shiftgrad::read_checkpoint(path);
  TrainFlags flags = TrainFlags::from_json(checkpoint.training, path);
  Vocabulary vocabulary(unit_of(flags.vocab), checkpoint.vocabulary, path);
  return {path, std::move(checkpoint), flags, vocabulary};
}

SavedRun load_run(const std::string& run, const std::string& name) {
  return load_checkpoint(checkpoint_of(run, name));
}

}  // namespace char_lm
