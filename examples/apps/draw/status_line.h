#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace apps {

/// A line on a terminal that redraws itself, and disappears with this object. If the stream
/// is not a terminal, it draws nothing.
class StatusLine {
 public:
  /// Draws on `stream`, which is stdout or stderr.
  explicit StatusLine(std::FILE* stream);
  ~StatusLine() { erase(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Whether the stream is a terminal.
  bool is_visible() const { return is_visible_; }
  /// Whether it is time to draw again. A line that is redrawn more often flickers.
  bool is_due() const;
  /// Draws the text in place of the text before, after a bar if a share from 0 to 1 is given.
  void draw(const std::string& text, std::optional<double> share = {});
  /// Removes the line, so that something else can be printed.
  void erase();

 private:
  using Clock = std::chrono::steady_clock;

  std::FILE* stream_;
  bool is_visible_, is_drawn_ = false;
  Clock::time_point last_drawn_{};
};

/// Returns the text in at most `room` columns, after a bar if a share is given and there is room
/// for one. Of parts with two spaces between them, those before the last are left out first.
std::string fitted(std::string text, std::optional<double> share, int64_t room);

/// Returns 75 seconds as "1:15".
std::string clock_time(double seconds);

}  // namespace apps
