#pragma once

namespace common {

/// Turns SIGINT, SIGTERM and SIGHUP into requests to stop, as long as it lives. A closing terminal
/// sends SIGHUP. After the first signal, the next ends the program at once. A signal that the
/// program was started to ignore stays ignored.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// Returns the signal that came, or 0.
  int signal() const;
};

/// Ends the program as the signal would have. A shell then sees status 128 + signal, and a script
/// around it stops too.
[[noreturn]] void exit_by_signal(int signal);

}  // namespace common
