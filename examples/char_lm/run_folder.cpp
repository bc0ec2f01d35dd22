#include "run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "core/errors.h"
#include "near_name.h"

namespace char_lm {

// The folder itself is locked, so nothing has to be written, and nothing is left.
FolderLock::FolderLock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;
  ::close(descriptor_);
  shiftgrad::fail("--out_dir ", folder.string(), ": another training is under way there");
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RunFolder make_run_folder(const std::string& out_dir) {
  std::error_code error;
  std::filesystem::create_directories(out_dir, error);
  shiftgrad::require(!error, "--out_dir ", out_dir, ": ", error.message());
  return {out_dir, std::make_shared<FolderLock>(out_dir)};
}

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
