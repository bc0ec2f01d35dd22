#pragma once

#include <ostream>
#include <streambuf>
#include <string>

#include "utf8.h"

namespace apps {

/// Makes a stream show all text as printable_lines does, as long as this object lives, if the
/// stream's file is a terminal. Elsewhere the text stays as it is.
class TerminalText : private std::streambuf {
 public:
  TerminalText(std::ostream& stream, int descriptor);
  ~TerminalText() override;
  TerminalText(const TerminalText&) = delete;
  TerminalText& operator=(const TerminalText&) = delete;

 private:
  int overflow(int byte) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

  std::ostream& stream_;
  std::streambuf* terminal_;
  bool is_terminal_;
  WholeCharacters characters_;
  std::string line_end_{};  // a carriage return that is held back, or nothing
};

}  // namespace apps
