#include "terminal_text.h"

#include <unistd.h>

#include <string>

#include "printable.h"

namespace apps {

namespace {

bool put(std::streambuf& terminal, const std::string& text) {
  return terminal.sputn(text.data(), std::ssize(text)) == std::ssize(text);
}

}  // namespace

TerminalText::TerminalText(std::ostream& stream, int descriptor)
    : stream_(stream), terminal_(stream.rdbuf()), is_terminal_(::isatty(descriptor) == 1) {
  if (is_terminal_) stream_.rdbuf(this);
}

TerminalText::~TerminalText() {
  if (!is_terminal_) return;
  put(*terminal_, printable_lines(line_end_ + characters_.rest()));
  stream_.rdbuf(terminal_);
}

int TerminalText::overflow(int byte) {
  char character = traits_type::to_char_type(byte);
  return xsputn(&character, 1) == 1 ? byte : traits_type::eof();
}

std::streamsize TerminalText::xsputn(const char* text, std::streamsize size) {
  std::string whole = line_end_ + characters_.add({text, static_cast<size_t>(size)});
  // It may be the first half of a line's end.
  line_end_ = whole.ends_with('\r') ? "\r" : "";
  whole.resize(whole.size() - line_end_.size());
  return put(*terminal_, printable_lines(whole)) ? size : 0;
}

int TerminalText::sync() { return terminal_->pubsync(); }

}  // namespace apps
