#pragma once

#include <string>

namespace apps {

/// Turns signals that ask a program to end into requests to stop, as long as it lives: SIGINT,
/// SIGTERM, SIGHUP, which a closing terminal sends, SIGUSR1, by which batch systems warn before
/// they end a program, and SIGXCPU. After the first signal, the next ends the program at once,
/// except SIGHUP and SIGXCPU, which the system itself repeats. A signal that the program was
/// started to ignore stays ignored.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  /// Returns the signal that came, or 0.
  int signal() const;
  /// Throws StoppedBySignal if one came.
  void check() const;
};

/// What ends a program as a signal would have.
struct StoppedBySignal {
  int signal;
};

/// Ends the program as the signal would have, without a core file. A shell then sees status
/// 128 + signal, and a script around it stops too.
[[noreturn]] void exit_by_signal(int signal);

/// Returns the exit statuses after the signals of a StopRequest, with their names: "129, … or 152
/// after SIGHUP, … or SIGXCPU".
std::string stop_statuses();

}  // namespace apps
