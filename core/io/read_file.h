#pragma once

// Reads files, and never takes a failure for the end of a file.

#include <cstdint>
#include <string>

#include "core/io/descriptor.h"

namespace shiftgrad {

/// Reads all of a file, a pipe or a device; waits for what is still to come through a pipe. Throws
/// one line that begins with the path when it cannot be opened or read to its end.
std::string read_file(const std::string& path);

/// Reads all of a regular file. A pipe or a device in its place is refused at once, without waiting
/// for its other end. Throws as read_file does.
std::string read_regular_file(const std::string& path);

/// Reads all that is left of an open descriptor. Throws one line that begins with `name`.
std::string read_to_end(int descriptor, const std::string& name);

/// A regular file, which is read piece by piece from its start.
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
  /// Returns all bytes that are left.
  std::string rest();

 private:
  Descriptor descriptor_;
  uint64_t size_ = 0;
};

}  // namespace shiftgrad
