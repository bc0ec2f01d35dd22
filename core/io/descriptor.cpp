#include "core/io/descriptor.h"

#include <cerrno>
#include <system_error>

#include "core/errors.h"

namespace shiftgrad {

std::optional<struct stat> Descriptor::status() const {
  struct stat status {};
  if (!is_open() || ::fstat(number_, &status) != 0) return std::nullopt;
  return status;
}

std::string system_reason() { return std::generic_category().message(errno); }

void check_system(bool success, const char* problem) {
  if (!success) fail(problem, ": ", system_reason());
}

}  // namespace shiftgrad
