#include "status_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace apps {

using namespace std::chrono_literals;

namespace {

int64_t width_of_terminal(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

StatusLine::StatusLine(std::FILE* stream)
    : stream_(stream), is_visible_(::isatty(::fileno(stream)) == 1) {}

bool StatusLine::is_due() const { return is_visible_ && Clock::now() - last_drawn_ > 100ms; }

void StatusLine::draw(const std::string& text, std::optional<double> share) {
  if (!is_visible_) return;
  std::string line = fitted(text, share, width_of_terminal(::fileno(stream_)) - 1);
  erase();
  std::fputs(line.c_str(), stream_);
  std::fflush(stream_);
  is_drawn_ = true;
  last_drawn_ = Clock::now();
}

void StatusLine::erase() {
  if (!is_drawn_) return;
  std::fputs("\r\033[K", stream_);
  std::fflush(stream_);
  is_drawn_ = false;
}

std::string fitted(std::string text, std::optional<double> share, int64_t room) {
  constexpr int64_t least = 5, most = 40;
  while (std::ssize(text) > room) {
    size_t end = text.rfind("  "), begin = text.rfind("  ", end - 1);
    if (end == text.npos || begin == text.npos || end == 0) return text.substr(0, room);
    text.erase(begin, end - begin);
  }
  int64_t width = std::min(room - std::ssize(text) - 3, most);
  if (!share || width < least) return text;
  auto filled = static_cast<int64_t>(*share * static_cast<double>(width));
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] " + text;
}

std::string clock_time(double seconds) {
  constexpr double longest = 1e15;  // what is longer, or not finite, is no time
  auto whole = static_cast<long long>(seconds < longest ? seconds + 0.5 : longest);
  char digits[64];
  if (whole < 3600)
    std::snprintf(digits, sizeof digits, "%lld:%02lld", whole / 60, whole % 60);
  else
    std::snprintf(digits, sizeof digits, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  return digits;
}

}  // namespace apps
