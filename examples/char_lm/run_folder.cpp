#include "run_folder.h"

#include <filesystem>
#include <map>

#include "near_name.h"

namespace char_lm {

std::vector<std::string> run_names(const std::vector<std::string>& out_dirs) {
  std::vector<std::string> result;
  std::map<std::string, int> uses;
  for (const std::string& out_dir : out_dirs) {
    result.push_back(std::filesystem::weakly_canonical(out_dir).filename());
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

SavedRun load_run(const std::string& out_dir, const std::string& name) {
  check_choice("--checkpoint", name, "best|last");
  return load_checkpoint(RunFolder{out_dir}.checkpoint(name));
}

}  // namespace char_lm
