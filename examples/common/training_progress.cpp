#include "training_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "printable.h"

namespace char_lm {

namespace {

using namespace std::chrono_literals;

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char line[256];
  std::snprintf(line, sizeof line, pattern, values...);
  return line;
}

/// Returns 75 as "1:15".
std::string clock_time(double seconds) {
  auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 3600) return format("%lld:%02lld", whole / 60, whole % 60);
  return format("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

int64_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

TrainingProgress::TrainingProgress(int64_t steps, int64_t lines_interval, bool passed_on)
    : steps_(steps),
      lines_interval_(lines_interval),
      terminal_(!passed_on && ::isatty(STDOUT_FILENO) == 1) {}

TrainingProgress::~TrainingProgress() { erase(); }

std::string TrainingProgress::status(int64_t step, double loss, double tokens_per_second) const {
  double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  double left = elapsed / static_cast<double>(step - first_) * static_cast<double>(steps_ - step);
  return format("step %lld/%lld  loss %.3f  %.1fk tokens/s  ETA %s", static_cast<long long>(step),
                static_cast<long long>(steps_), loss, tokens_per_second / 1000,
                clock_time(left).c_str());
}

void TrainingProgress::show(int64_t step, double loss, double tokens_per_second) {
  if (!terminal_) {
    if (step % lines_interval_ == 0 || step == steps_) print(status(step, loss, tokens_per_second));
  } else if (Clock::now() - last_drawn_ > 100ms || step == steps_) {
    draw(step, status(step, loss, tokens_per_second));
  }
}

void TrainingProgress::draw(int64_t step, const std::string& status) {
  int64_t room = terminal_width() - 1;
  int64_t width = std::clamp<int64_t>(room - std::ssize(status) - 4, 0, 40);
  int64_t filled = width * step / steps_;
  std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
  erase();
  std::cout << ("[" + bar + "] " + status).substr(0, room) << std::flush;
  drawn_ = true;
  last_drawn_ = Clock::now();
}

void TrainingProgress::print(const std::string& line) {
  erase();
  std::cout << printable(line, longest_line) << std::endl;
}

void TrainingProgress::erase() {
  if (drawn_) std::cout << "\r\033[K" << std::flush;
  drawn_ = false;
}

}  // namespace char_lm
