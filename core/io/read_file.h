#pragma once

// Reading whose failures are never taken for the end of a file.

#include <cstdint>
#include <string>

#include "shiftgrad/core/io/descriptor.h"

namespace shiftgrad {

/// All that can be read from a file, a pipe or a device; waits for what is still to come through a
/// pipe. Throws one line that begins with the path when it cannot be opened or read to its end.
std::string read_file(const std::string& path);

/// All that is in a regular file. A pipe or a device in its place is refused at once, without
/// waiting for its other end. Throws as read_file does.
std::string read_regular_file(const std::string& path);

/// All that can still be read from an open descriptor. Throws one line that begins with its name.
std::string read_to_end(int descriptor, const std::string& name);

/// A regular file, read piece after piece from its start.
class RegularFile {
 public:
  /// Throws the reason, without the path, when it cannot be opened, and for all that is not a
  /// regular file.
  explicit RegularFile(const std::string& path);

  /// In bytes, when it was opened.
  uint64_t size() const { return size_; }
  /// Fills `target` with the next `count` bytes. Throws the reason, without the path, when there
  /// are fewer or they cannot be read.
  void read(void* target, uint64_t count);
  /// All bytes that are left.
  std::string rest();

 private:
  Descriptor descriptor_;
  uint64_t size_ = 0;
};

}  // namespace shiftgrad
