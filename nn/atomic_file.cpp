#include "nn/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/errors.h"

namespace shiftgrad {

namespace {

/// Throws `problem` and the reason in errno unless a system call succeeded.
void check(bool success, const char* problem) {
  if (!success) fail(problem, ": ", std::generic_category().message(errno));
}

/// An open file or folder, closed at the end of its scope.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (is_open()) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Closes it now and says whether that went well.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    check(written >= 0 || errno == EINTR, "cannot be written");
    if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

constexpr std::string_view temporary_prefix = ".shiftgrad-", temporary_suffix = ".tmp";

/// A name no other writer of this or another process will choose. One that is taken all the same
/// was left by a process that was killed.
std::string temporary_path(const std::filesystem::path& folder) {
  static std::atomic<int64_t> next = 0;
  std::filesystem::path path;
  do path = folder / text(temporary_prefix, ::getpid(), '-', next++, temporary_suffix);
  while (std::filesystem::exists(std::filesystem::symlink_status(path)));
  return path;
}

/// The process that gave a file such a name, or 0 when none did.
pid_t writer_of(const std::string& name) {
  if (!name.starts_with(temporary_prefix) || !name.ends_with(temporary_suffix)) return 0;
  pid_t process = 0;
  const char *digits = name.data() + temporary_prefix.size(), *end = name.data() + name.size();
  auto [rest, error] = std::from_chars(digits, end, process);
  return error == std::errc() && *rest == '-' && process > 0 ? process : 0;
}

bool has_ended(pid_t process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

void write_new_file(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_EXCL);
  check(file.is_open(), "no temporary file can be made next to it");
  for (std::span<const std::byte> piece : pieces) write_all(file.number(), piece);
  check(::fsync(file.number()) == 0, "cannot be written");
  check(file.close(), "cannot be written");
}

void replace_file(std::filesystem::path path, std::span<const std::span<const std::byte>> pieces) {
  auto status = std::filesystem::status(path);
  require(!exists(status) || is_regular_file(status), "exists and is not a regular file");
  if (exists(status)) path = canonical(path);
  std::filesystem::path folder_path = path.has_parent_path() ? path.parent_path() : ".";
  Descriptor folder(folder_path, O_RDONLY | O_DIRECTORY);
  check(folder.is_open(), "its folder cannot be opened");

  std::string temporary = temporary_path(folder_path);
  try {
    write_new_file(temporary, pieces);
    check(::rename(temporary.c_str(), path.c_str()) == 0, "cannot be replaced");
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  // The new name is on the disk when the folder is; some file systems cannot be asked for that.
  check(::fsync(folder.number()) == 0 || errno == EINVAL, "its folder cannot be written");
}

}  // namespace

void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> pieces) {
  try {
    replace_file(path, pieces);
  } catch (const std::filesystem::filesystem_error& error) {
    fail(path, ": ", error.code().message());
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
}

void remove_abandoned_files(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    pid_t writer = writer_of(entry.path().filename());
    if (writer > 0 && has_ended(writer)) std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace shiftgrad
