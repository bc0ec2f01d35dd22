#include "lines.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "core/errors.h"
#include "core/io/read_file.h"
#include "examples/apps/draw/utf8.h"

namespace seq2seq {

namespace {

/// Whether reading would return at once.
bool is_ready(int descriptor) {
  pollfd waiting{descriptor, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace

size_t Lines::line_end() {
  size_t end = buffer_.find('\n', searched_);
  searched_ = std::min(end, buffer_.size());
  return end;
}

void Lines::read() {
  buffer_.erase(0, begin_);
  searched_ -= std::exchange(begin_, 0);
  char piece[1 << 16];
  size_t count = shiftgrad::in_name_of(
      "standard input", [&] { return shiftgrad::read_some(descriptor_, piece, sizeof piece); });
  buffer_.append(piece, count);
  if (at_start_ && (buffer_.size() >= 3 || count == 0)) {
    at_start_ = false;
    apps::drop_byte_order_mark(buffer_);
    searched_ = 0;
  }
  if (count > 0) return;
  at_end_ = true;
  if (!buffer_.empty() && !buffer_.ends_with('\n')) buffer_ += '\n';
}

std::vector<std::string> Lines::next(size_t most) {
  std::vector<std::string> lines;
  while (lines.size() < most) {
    size_t end = line_end();
    while (end == std::string::npos && !at_end_ && (lines.empty() || is_ready(descriptor_))) {
      read();
      end = line_end();
    }
    if (end == std::string::npos) break;
    std::string& line = lines.emplace_back(buffer_, begin_, end - begin_);
    if (line.ends_with('\r')) line.pop_back();
    at_start_ = false;
    begin_ = searched_ = end + 1;
  }
  return lines;
}

}  // namespace seq2seq
