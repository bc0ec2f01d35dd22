#include "out_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "core/errors.h"

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

}  // namespace char_lm
