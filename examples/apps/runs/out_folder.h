#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "optim/peers/process_group.h"

namespace apps {

/// Lock that keeps other trainings out of a folder. It ends with this object or with the process,
/// however the process ends. A folder that does not exist, or whose file system has no locks, is
/// not locked.
class FolderLock {
 public:
  /// Locks the folder. Throws when another training has locked it.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// Whether a training has locked the folder.
bool is_locked(const std::filesystem::path& folder);

/// Folders that were made. Those that are still empty at the end, since what was to fill them was
/// refused, are removed.
class MadeFolder {
 public:
  MadeFolder() = default;
  ~MadeFolder();
  /// Makes the folder, with those around it, if it does not exist. Throws the reason when it cannot
  /// be made.
  void make(const std::filesystem::path& folder);
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // the outermost first
};

/// The folder of a run, with its lock.
struct RunFolder {
  std::filesystem::path path;
  std::shared_ptr<const FolderLock> lock{};
  std::shared_ptr<const MadeFolder> made{};  // goes before the lock

  /// Returns the path of a checkpoint; `name` is best or last.
  std::string checkpoint(const std::string& name) const { return path / (name + ".safetensors"); }
  std::string metrics() const { return path / "metrics.jsonl"; }
};

/// Locks the folder; make_run_folder first makes it if it does not exist. Of several peers, the
/// first does this. Throws when it fails.
RunFolder lock_run_folder(const std::string& out_dir,
                          const shiftgrad::ProcessGroup& peers = shiftgrad::alone());
RunFolder make_run_folder(const std::string& out_dir,
                          const shiftgrad::ProcessGroup& peers = shiftgrad::alone());

/// Locks the folder for a new run. Throws when it already holds a run, unless that may be
/// overwritten. `instead` ends the error message with another way out.
RunFolder new_run_folder(const std::string& out_dir, bool overwrite, const std::string& instead,
                         const shiftgrad::ProcessGroup& peers = shiftgrad::alone());

/// Whether a run has left something in the folder.
bool holds_run(const std::string& out_dir);

}  // namespace apps
