#include "out_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "core/errors.h"
#include "core/io/read_file.h"

namespace apps {

// Locks the folder itself, so nothing has to be written, and nothing is left behind.
FolderLock::FolderLock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return;
  ::close(descriptor_);
  shiftgrad::fail("--out_dir ", folder.string(), ": another training is using it");
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool is_locked(const std::filesystem::path& folder) {
  shiftgrad::Descriptor descriptor(folder, O_RDONLY | O_DIRECTORY);
  return descriptor.is_open() && ::flock(descriptor.number(), LOCK_SH | LOCK_NB) != 0 &&
         errno == EWOULDBLOCK;
}

void MadeFolder::make(const std::filesystem::path& folder) {
  shiftgrad::require(!folder.empty(), "expected the name of a folder");
  std::filesystem::path path;
  for (const std::filesystem::path& part : folder) {
    path /= part;
    std::error_code error, ignored;
    if (std::filesystem::create_directory(path, error)) made_.push_back(path);
    auto status = std::filesystem::status(path, ignored);
    if (is_directory(status)) continue;
    auto link = std::filesystem::symlink_status(path, ignored);
    shiftgrad::require(!is_symlink(link) || exists(status),
                       "a symbolic link to a folder that does not exist");
    shiftgrad::require(!is_regular_file(status), "a file, expected a folder");
    shiftgrad::fail(error.message());
  }
}

MadeFolder::~MadeFolder() {
  for (auto path = made_.rbegin(); path != made_.rend(); ++path) ::rmdir(path->c_str());
}

RunFolder lock_run_folder(const std::string& out_dir, const shiftgrad::ProcessGroup& peers) {
  std::error_code error;
  shiftgrad::require(!std::filesystem::is_regular_file(out_dir, error), "--out_dir ", out_dir,
                     ": a file, expected a folder");
  return {out_dir, peers.rank() == 0 ? std::make_shared<FolderLock>(out_dir) : nullptr};
}

RunFolder make_run_folder(const std::string& out_dir, const shiftgrad::ProcessGroup& peers) {
  if (peers.rank() > 0) return lock_run_folder(out_dir, peers);
  auto made = std::make_shared<MadeFolder>();
  shiftgrad::in_name_of("--out_dir " + out_dir, [&] { made->make(out_dir); });
  RunFolder folder = lock_run_folder(out_dir, peers);
  folder.made = made;
  return folder;
}

RunFolder new_run_folder(const std::string& out_dir, bool overwrite, const std::string& instead,
                         const shiftgrad::ProcessGroup& peers) {
  RunFolder folder = make_run_folder(out_dir, peers);
  shiftgrad::require(overwrite || peers.rank() > 0 || !holds_run(out_dir), "--out_dir ", out_dir,
                     ": already holds a run; --overwrite replaces it", instead);
  return folder;
}

bool holds_run(const std::string& out_dir) {
  RunFolder folder{out_dir};
  std::error_code error;  // a folder that cannot be read cannot be written, and that error says why
  auto there = [&](const std::string& path) { return std::filesystem::exists(path, error); };
  return there(folder.checkpoint("best")) || there(folder.checkpoint("last")) ||
         there(folder.metrics());
}

}  // namespace apps
