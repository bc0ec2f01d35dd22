#pragma once

namespace shiftgrad {

/// While one lives, a fork of this process waits: the child gets no lock that a call of another
/// library holds. It must not last long, nor be nested.
class NoFork {
 public:
  NoFork();
  ~NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
};

}  // namespace shiftgrad
