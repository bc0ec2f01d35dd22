#pragma once

#include <string>
#include <vector>

namespace seq2seq {

/// Reads lines from a file descriptor as they arrive. A user who types waits for one line only, and
/// a file is still read in large blocks. A byte order mark before the first line is dropped.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  /// Waits for a line, then returns it and those after it that have already arrived, at most `most`
  /// in all, without their line ends. Returns nothing at the end of the input. Throws when the
  /// input cannot be read.
  std::vector<std::string> next(size_t most);

 private:
  /// Returns the place in the buffer where the next line ends, or npos.
  size_t line_end();
  void read();

  int descriptor_;
  std::string buffer_;
  size_t begin_ = 0;     // start of the next line
  size_t searched_ = 0;  // no line end before this place
  bool at_start_ = true, at_end_ = false;
};

}  // namespace seq2seq
