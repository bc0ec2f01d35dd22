#include "stop_request.h"

#include <csignal>
#include <cstdlib>
#include <iostream>

namespace common {

namespace {

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t received = 0;

void set_handler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  // Writes in progress continue.
  action.sa_flags = SA_RESTART;
  for (int signal : signals) {
    struct sigaction current {};
    ::sigaction(signal, nullptr, &current);
    if (current.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

extern "C" void receive(int signal) {
  received = signal;
  set_handler(SIG_DFL);
}

}  // namespace

StopRequest::StopRequest() {
  received = 0;
  set_handler(receive);
}

StopRequest::~StopRequest() { set_handler(SIG_DFL); }

int StopRequest::signal() const { return received; }

void exit_by_signal(int signal) {
  std::cout << std::flush;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  std::_Exit(128 + signal);
}

}  // namespace common
