#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

namespace shiftgrad {

/// An open file, folder or end of a pipe, which is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  /// Tries to open `path`; is_open() says whether that succeeded.
  Descriptor(const std::string& path, int flags, mode_t mode = 0666)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() {
    if (is_open()) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Returns what the system says of it, or nothing when it is not open or cannot be asked.
  std::optional<struct stat> status() const;
  /// Closes it now and returns whether that succeeded.
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// Returns the system's words for errno.
std::string system_reason();

/// Throws `problem` with the system's reason when a system call did not succeed.
void check_system(bool success, const char* problem);

}  // namespace shiftgrad
