#include "stop_request.h"

#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "core/errors.h"

namespace apps {

namespace {

struct StopSignal {
  int number;
  const char* name;
  /// A closing terminal's shell and the system both send SIGHUP. SIGXCPU comes every second.
  bool is_repeated;
};

constexpr StopSignal stop_signals[] = {{SIGHUP, "SIGHUP", true},
                                       {SIGINT, "SIGINT", false},
                                       {SIGUSR1, "SIGUSR1", false},
                                       {SIGTERM, "SIGTERM", false},
                                       {SIGXCPU, "SIGXCPU", true}};
volatile std::sig_atomic_t received = 0;

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  struct sigaction current {};
  action.sa_handler = handler;
  // Writes in progress continue.
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, nullptr, &current);
  if (current.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
}

extern "C" void receive(int signal) {
  if (received == 0) received = signal;
  for (const StopSignal& other : stop_signals)
    if (!other.is_repeated) handle(other.number, SIG_DFL);
}

}  // namespace

StopRequest::StopRequest() {
  received = 0;
  for (const StopSignal& signal : stop_signals) handle(signal.number, receive);
}

StopRequest::~StopRequest() {
  for (const StopSignal& signal : stop_signals) handle(signal.number, SIG_DFL);
}

int StopRequest::signal() const { return received; }

void StopRequest::check() const {
  if (received != 0) throw StoppedBySignal{received};
}

void exit_by_signal(int signal) {
  std::cout << std::flush;
  rlimit no_core_file{};
  ::setrlimit(RLIMIT_CORE, &no_core_file);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  std::_Exit(128 + signal);
}

std::string stop_statuses() {
  std::string statuses, names;
  for (const StopSignal& signal : stop_signals) {
    const char* between = &signal == std::begin(stop_signals)     ? ""
                          : &signal + 1 == std::end(stop_signals) ? " or "
                                                                  : ", ";
    statuses += shiftgrad::text(between, 128 + signal.number);
    names += shiftgrad::text(between, signal.name);
  }
  return statuses + " after " + names;
}

}  // namespace apps
