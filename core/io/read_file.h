#pragma once

// Reads files, and never takes a failure for the end of a file.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace shiftgrad {

/// An open file, folder or end of a pipe, which is closed at the end of its scope.
class Descriptor {
 public:
  /// Takes over a descriptor that is open.
  explicit Descriptor(int number) : number_(number) {}
  /// Tries to open `path`; is_open() says whether that succeeded.
  Descriptor(const std::string& path, int flags, mode_t mode = 0666);
  ~Descriptor() {
    if (is_open()) ::close(number_);
  }
  /// Descriptors are moved and never copied.
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  /// Whether it is open.
  bool is_open() const { return number_ >= 0; }
  /// The number by which the system knows it.
  int number() const { return number_; }
  /// Returns what the system says of it, or nothing when it is not open or cannot be asked.
  std::optional<struct stat> status() const;
  /// Closes it now and returns whether that succeeded.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// Returns the system's words for errno.
std::string system_reason();

/// Throws `problem` with the system's reason when a system call did not succeed.
void check_system(bool success, const char* problem);

/// Reads at most `count` bytes from a descriptor, and returns 0 only at its end. Throws the reason.
size_t read_some(int descriptor, void* target, size_t count);
/// Writes all of the bytes to a descriptor. Throws the reason.
void write_all(int descriptor, std::span<const std::byte> bytes);

/// Reads all of a file, a pipe or a device; waits for what is still to come through a pipe. Throws
/// one line that begins with the path when it cannot be opened or read to its end.
std::string read_file(const std::string& path);

/// Reads all of a regular file, or what it has from a byte on. A pipe or a device in its place is
/// refused at once, without waiting for its other end. Throws as read_file does.
std::string read_regular_file(const std::string& path, uint64_t begin = 0);

/// Reads all that is left of an open descriptor. Throws one line that begins with `name`.
std::string read_to_end(int descriptor, const std::string& name);

/// A regular file, which is read piece by piece from its start, or wherever one asks.
class RegularFile {
 public:
  /// Opens the file. Throws the reason, without the path, when it cannot be opened and when it is
  /// not a regular file.
  explicit RegularFile(const std::string& path);

  /// The size in bytes when the file was opened.
  uint64_t size() const { return size_; }
  /// Fills `target` with the next `count` bytes. Throws the reason, without the path, when there
  /// are fewer or they cannot be read.
  void read(void* target, uint64_t count);
  /// Fills `target` with the `count` bytes from `begin` on, on any thread. Throws as the other
  /// does, and when the file was changed since it was opened.
  void read_at(uint64_t begin, void* target, uint64_t count) const;
  /// Returns all bytes from `begin` on.
  std::string from(uint64_t begin);

 private:
  Descriptor descriptor_;
  uint64_t size_ = 0;
  /// When its content was last changed before it was opened, in the system's finest unit.
  int64_t modified_ = 0;
};

}  // namespace shiftgrad
