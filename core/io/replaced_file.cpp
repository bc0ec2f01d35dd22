#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "core/errors.h"
#include "core/io/read_file.h"
#include "core/io/replaced_file.h"

namespace shiftgrad {

namespace {

/// Tries to lock the file, and returns whether it is ours until it is closed: nobody else has
/// locked it. Where the file system has no locks, `without_locks` is returned.
bool lock(const Descriptor& file, bool without_locks) {
  if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return true;
  return errno != EWOULDBLOCK && without_locks;
}

/// A new file, which disappears at the end of its scope unless it has become another. It is locked
/// for as long as it is written, and observers on every machine see that.
class Temporary {
 public:
  Temporary(const std::filesystem::path& folder, mode_t mode) {
    // A process that removes abandoned files may take it for one before it is locked.
    for (int attempt = 0; attempt < 100 && !is_ours(); ++attempt) {
      path_ = folder / temporary_name();
      file_ = Descriptor(path_, O_WRONLY | O_CREAT | O_EXCL, mode);
      check_system(file_.is_open() || errno == EEXIST, "no temporary file can be made next to it");
    }
    require(is_ours(), "its temporary files are removed by other processes");
  }
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  /// Gives it the mode of another file and, if that is allowed, its owner.
  void resemble(const struct stat& old) {
    if (::fchown(file_.number(), old.st_uid, old.st_gid) != 0) errno = 0;
    if (::fchmod(file_.number(), old.st_mode & 07777) != 0) errno = 0;
  }
  /// Appends the bytes. Pages of zeros, such as moments before the first update, become a hole, for
  /// which the disk has nothing to write.
  void write(std::span<const std::byte> bytes) {
    constexpr uint64_t page = 1 << 16;
    while (!bytes.empty()) {
      auto rest_of_page = static_cast<size_t>(page - size_ % page);
      std::span piece = bytes.first(std::min(bytes.size(), rest_of_page));
      if (is_zero(piece))
        check_system(::lseek(file_.number(), std::ssize(piece), SEEK_CUR) >= 0,
                     "cannot be written");
      else
        write_all(file_.number(), piece);
      size_ += piece.size();
      bytes = bytes.subspan(piece.size());
    }
  }
  /// Takes the place of what is there. The file is then still locked, and on the disk, so that
  /// closing it has no error to report.
  void become(const std::filesystem::path& path) {
    check_system(::ftruncate(file_.number(), static_cast<off_t>(size_)) == 0, "cannot be written");
    check_system(::fsync(file_.number()) == 0, "cannot be written");
    check_system(::rename(path_.c_str(), path.c_str()) == 0, "cannot be replaced");
    path_.clear();
  }

 private:
  bool is_ours() const {
    return file_.status() && lock(file_, true) && file_.status()->st_nlink > 0;
  }

  /// Whether all bytes are 0; there is at least one.
  static bool is_zero(std::span<const std::byte> bytes) {
    return bytes[0] == std::byte{0} &&
           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
  }

  std::filesystem::path path_;
  Descriptor file_{-1};
  uint64_t size_ = 0;
};

/// Returns what the system says of a file, or nothing where there is none.
std::optional<struct stat> old_file(const std::filesystem::path& path) {
  struct stat old {};
  if (::stat(path.c_str(), &old) != 0) return std::nullopt;
  return old;
}

}  // namespace

void replace_file(const std::filesystem::path& path,
                  std::span<const std::span<const std::byte>> pieces) {
  std::optional<struct stat> old = old_file(path);
  std::filesystem::path folder_path = path.has_parent_path() ? path.parent_path() : ".";
  Descriptor folder(folder_path, O_RDONLY | O_DIRECTORY);
  check_system(folder.is_open(), "its folder cannot be opened");

  // Nobody may see more of it than they saw of the old file.
  Temporary file(folder_path, old ? 0600 : 0666);
  for (std::span<const std::byte> piece : pieces) file.write(piece);
  if (old) file.resemble(*old);
  file.become(path);
  // The new name is on the disk when the folder is; some file systems cannot do that for a folder.
  check_system(::fsync(folder.number()) == 0 || errno == EINVAL, "its folder cannot be written");
}

void remove_unless_locked(const std::filesystem::path& path) {
  Descriptor file(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  auto status = file.status();
  if (status && S_ISREG(status->st_mode) && lock(file, false)) ::unlink(path.c_str());
}

}  // namespace shiftgrad
