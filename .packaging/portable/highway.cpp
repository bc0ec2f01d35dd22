// The functions of Highway that its headers leave to its library, where there is one instruction set
// and nothing to find out at run time: in WebAssembly.

#include <hwy/highway.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace hwy {

int64_t SupportedTargets() { return HWY_STATIC_TARGET; }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

void Abort(const char* file, int line, const char* format, ...) {
  std::fprintf(stderr, "%s:%d: ", file, line);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::abort();
}

}  // namespace hwy
