#pragma once

// What of a process is in memory.

#ifdef __linux__
#include <sys/prctl.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <fstream>

namespace shiftgrad {

/// The bytes of this process that are in memory, as Linux says, and 0 elsewhere.
inline int64_t resident() {
#ifdef __linux__
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
#else
  return 0;
#endif
}

/// While it lives, Linux does not join small pages to huge ones. It does so when it has time, and
/// fills again what was given back.
struct NoHugePages {
#ifdef __linux__
  NoHugePages() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
  ~NoHugePages() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
#endif
};

}  // namespace shiftgrad
