#pragma once

#include <string>
#include <vector>

namespace seq2seq {

/// The lines of a file descriptor as they come, so that neither who types waits for more lines than
/// one, nor a file is read line by line. A byte order mark before the first is dropped.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  /// Waits for a line, then gives it with the ones behind it that are there already, `most` at
  /// most, without their ends. Empty at the end of the input. Throws when it cannot be read.
  std::vector<std::string> next(size_t most);

 private:
  /// Where in the buffer the next line ends, or npos.
  size_t line_end();
  void read();

  int descriptor_;
  std::string buffer_;
  size_t begin_ = 0;     // of the next line
  size_t searched_ = 0;  // there is no end between it and this
  bool at_start_ = true, at_end_ = false;
};

}  // namespace seq2seq
