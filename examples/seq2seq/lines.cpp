#include "lines.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/errors.h"

namespace seq2seq {

namespace {

/// Whether reading would not have to wait.
bool is_ready(int descriptor) {
  pollfd waiting{descriptor, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace

void Lines::read() {
  char piece[1 << 16];
  ssize_t count = 0;
  do {
    count = ::read(descriptor_, piece, sizeof piece);
  } while (count < 0 && errno == EINTR);
  shiftgrad::require(count >= 0, "standard input: ", std::strerror(errno));
  buffer_.append(piece, static_cast<size_t>(count));
  if (count > 0) return;
  at_end_ = true;
  if (!buffer_.empty() && !buffer_.ends_with('\n')) buffer_ += '\n';
}

std::vector<std::string> Lines::next(size_t most) {
  std::vector<std::string> lines;
  while (lines.size() < most) {
    while (!has_line() && !at_end_ && (lines.empty() || is_ready(descriptor_))) read();
    size_t end = buffer_.find('\n');
    if (end == std::string::npos) break;
    std::string& line = lines.emplace_back(buffer_, 0, end);
    if (line.ends_with('\r')) line.pop_back();
    buffer_.erase(0, end + 1);
  }
  return lines;
}

}  // namespace seq2seq
