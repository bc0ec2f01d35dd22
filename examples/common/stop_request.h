#pragma once

namespace char_lm {

/// While it lives, SIGINT, SIGTERM and SIGHUP, which a terminal that closes sends, are requests to
/// stop, to be asked for; after the first, the next ends the program at once. A signal that the
/// program was started to ignore stays ignored.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// The signal that came, or 0.
  int signal() const;
};

/// Ends the program as the signal would have, so that a shell sees status 128 + signal and a script
/// around it stops too.
[[noreturn]] void leave_by(int signal);

}  // namespace char_lm
