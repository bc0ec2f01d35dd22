#pragma once

#include <string>
#include <vector>

namespace seq2seq {

/// The lines of a file descriptor as they come, so that neither who types waits for more lines than
/// one, nor a file is read line by line.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  /// Waits for a line, then gives it with the ones behind it that are there already, `most` at
  /// most, without their ends. Empty at the end of the input. Throws when it cannot be read.
  std::vector<std::string> next(size_t most);

 private:
  bool has_line() const { return buffer_.find('\n') != std::string::npos; }
  void read();

  int descriptor_;
  std::string buffer_;
  bool at_end_ = false;
};

}  // namespace seq2seq
