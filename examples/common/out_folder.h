#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "shiftgrad/optim/peers/peers.h"

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

/// The folder, locked, which of several peers the first does; and made where there was none. Throws
/// when it cannot be.
RunFolder lock_run_folder(const std::string& out_dir,
                          const shiftgrad::Peers& peers = shiftgrad::alone());
RunFolder make_run_folder(const std::string& out_dir,
                          const shiftgrad::Peers& peers = shiftgrad::alone());

/// The same for a new run. Throws when there is one already, unless that may be overwritten;
/// `instead` is what else the user can do then.
RunFolder new_run_folder(const std::string& out_dir, bool overwrite, const std::string& instead,
                         const shiftgrad::Peers& peers = shiftgrad::alone());

/// Whether a run has left something in the folder.
bool holds_run(const std::string& out_dir);

}  // namespace char_lm
