#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nn/checkpoint.h"
#include "train_flags.h"
#include "vocabulary.h"

namespace char_lm {

/// Keeps other trainings out of a folder for as long as it lives and this process does, however
/// that ends. A folder that is not there is not locked, nor is one whose file system has no locks.
class FolderLock {
 public:
  /// Throws when another training has the folder.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// What `train` leaves behind.
struct RunFolder {
  std::filesystem::path path;
  std::shared_ptr<const FolderLock> lock{};

  /// `name` is best or last.
  std::string checkpoint(const std::string& name) const { return path / (name + ".safetensors"); }
  std::string metrics() const { return path / "metrics.jsonl"; }
};

/// The folder, locked, and made where there was none. Throws when it cannot be.
RunFolder make_run_folder(const std::string& out_dir);

/// What pictures and tables call the runs: the folders' own names, or the whole paths of those that
/// share one.
std::vector<std::string> run_names(const std::vector<std::string>& out_dirs);

/// A checkpoint with what its metadata says.
struct SavedRun {
  std::string source;
  shiftgrad::Checkpoint checkpoint;
  TrainFlags flags;
  Vocabulary vocabulary;
};

/// The checkpoint in a file. Throws one line that begins with its path when it is missing, broken,
/// or not by this program.
SavedRun load_checkpoint(const std::string& path);

/// The checkpoint that was called `name` in a run's folder; throws as that does.
SavedRun load_run(const std::string& out_dir, const std::string& name);

}  // namespace char_lm
