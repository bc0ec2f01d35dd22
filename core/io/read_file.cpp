#include "core/io/read_file.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/errors.h"
#include "core/io/path.h"

namespace shiftgrad {

namespace {

// Without O_NONBLOCK, opening a pipe would wait for its other end.
constexpr int without_waiting = O_NONBLOCK | O_NOCTTY;

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif
int64_t modification(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

/// The most bytes that one call reads or writes: macOS refuses 2 GiB.
constexpr size_t most_at_once = size_t{1} << 30;

/// Returns what read_once(), a call of the system that reads, returns once no signal disturbs it.
size_t read_undisturbed(auto read_once) {
  ssize_t read = 0;
  do {
    read = read_once();
  } while (read < 0 && errno == EINTR);
  check_system(read >= 0, "cannot be read");
  return static_cast<size_t>(read);
}

/// Reads all that is left. A text of the expected size is never moved to a larger block.
std::string read_all(int descriptor, uint64_t expected = 0) {
  std::string content;
  content.reserve(std::min<uint64_t>(expected, content.max_size()));
  char piece[1 << 16];
  while (size_t count = read_some(descriptor, piece, sizeof piece)) content.append(piece, count);
  return content;
}

/// Returns what the system says of the file, and throws its reason where it says nothing.
struct stat status_of(const Descriptor& file) {
  auto status = file.status();
  if (!file.is_open()) fail(system_reason());
  check_system(status.has_value(), "cannot be read");
  return *status;
}

}  // namespace

Descriptor::Descriptor(const std::string& path, int flags, mode_t mode)
    : number_(::open(path_of(path).c_str(), flags | O_CLOEXEC, mode)) {}

std::optional<struct stat> Descriptor::status() const {
  struct stat status {};
  if (!is_open() || ::fstat(number_, &status) != 0) return std::nullopt;
  return status;
}

std::string system_reason() { return std::generic_category().message(errno); }

void check_system(bool success, const char* problem) {
  if (!success) fail(problem, ": ", system_reason());
}

size_t read_some(int descriptor, void* target, size_t count) {
  return read_undisturbed(
      [&] { return ::read(descriptor, target, std::min(count, most_at_once)); });
}

void write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), most_at_once));
    check_system(written >= 0 || errno == EINTR, "cannot be written");
    require(written != 0, "cannot be written: the system takes no byte more");
    if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

std::string read_to_end(int descriptor, const std::string& name) {
  return in_name_of(name, [&] { return read_all(descriptor); });
}

std::string read_file(const std::string& path) {
  return in_name_of(path, [&] {
    Descriptor file(path, O_RDONLY);
    const struct stat status = status_of(file);
    require(!S_ISDIR(status.st_mode), "a folder, expected a file");
    return read_all(file.number(), status.st_size);
  });
}

std::string read_regular_file(const std::string& path, uint64_t begin) {
  return in_name_of(path, [&] { return RegularFile(path).from(begin); });
}

RegularFile::RegularFile(const std::string& path) : descriptor_(path, O_RDONLY | without_waiting) {
  struct stat status = status_of(descriptor_);
  require(S_ISREG(status.st_mode), "is not a regular file");
  size_ = static_cast<uint64_t>(status.st_size);
  modified_ = modification(status);
}

void RegularFile::read(void* target, uint64_t count) {
  auto* place = static_cast<char*>(target);
  while (count > 0) {
    size_t read = read_some(descriptor_.number(), place, count);
    require(read > 0, "cannot be read to its end");
    place += read;
    count -= read;
  }
}

void RegularFile::read_at(uint64_t begin, void* target, uint64_t count) const {
  for (auto* place = static_cast<char*>(target); count > 0;) {
    size_t read = read_undisturbed([&] {
      auto most = static_cast<size_t>(std::min<uint64_t>(count, most_at_once));
      return ::pread(descriptor_.number(), place, most, static_cast<off_t>(begin));
    });
    require(read > 0, "cannot be read to its end");
    place += read;
    begin += read;
    count -= read;
  }
  struct stat status = status_of(descriptor_);
  require(modification(status) == modified_ && std::cmp_equal(status.st_size, size_),
          "was changed while it was read");
}

std::string RegularFile::from(uint64_t begin) {
  check_system(::lseek(descriptor_.number(), static_cast<off_t>(begin), SEEK_SET) >= 0,
               "cannot be read");
  return read_all(descriptor_.number(), size_ - std::min(begin, size_));
}

}  // namespace shiftgrad
