// Loaded before a program (LD_PRELOAD), it lets reads of the file $FAILING_FILE fail from byte
// $FAILING_AFTER on, as those of a broken disk do, and where $TAKES_NOTHING is set, writes to files
// succeed with no byte written.

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace {

/// How many bytes of the file can be read from `place` on, or -1 for any.
off_t readable(int descriptor, off_t place) {
  const char* path = std::getenv("FAILING_FILE");
  const char* after = std::getenv("FAILING_AFTER");
  struct stat failing {
  }, own{};
  bool is_failing = path && after && ::stat(path, &failing) == 0 &&
                    ::fstat(descriptor, &own) == 0 && failing.st_dev == own.st_dev &&
                    failing.st_ino == own.st_ino;
  if (!is_failing) return -1;
  return std::max<off_t>(0, std::atoll(after) - place);
}

/// Calls read(count) with as much of the count as can be read, or fails.
ssize_t read_most(off_t most, size_t count, auto read) {
  if (most == 0) {
    errno = EIO;
    return -1;
  }
  return read(most > 0 ? std::min(count, static_cast<size_t>(most)) : count);
}

}  // namespace

extern "C" ssize_t read(int descriptor, void* target, size_t count) {
  return read_most(readable(descriptor, ::lseek(descriptor, 0, SEEK_CUR)), count,
                   [&](size_t most) { return ::syscall(SYS_read, descriptor, target, most); });
}

extern "C" ssize_t pread64(int descriptor, void* target, size_t count, off_t place) {
  return read_most(readable(descriptor, place), count, [&](size_t most) {
    return ::syscall(SYS_pread64, descriptor, target, most, place);
  });
}

extern "C" ssize_t write(int descriptor, const void* source, size_t count) {
  struct stat own {};
  bool is_file = ::fstat(descriptor, &own) == 0 && S_ISREG(own.st_mode);
  if (std::getenv("TAKES_NOTHING") && is_file) return 0;
  return ::syscall(SYS_write, descriptor, source, count);
}
