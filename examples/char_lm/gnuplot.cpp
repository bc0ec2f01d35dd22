#include "gnuplot.h"

#include <cstdio>
#include <cstdlib>

#include "core/errors.h"

namespace char_lm {

bool has_gnuplot() { return std::system("command -v gnuplot > /dev/null") == 0; }

bool gnuplot(const std::string& script) {
  if (!has_gnuplot()) return false;
  std::FILE* pipe = ::popen("gnuplot", "w");
  shiftgrad::require(pipe, "gnuplot: cannot be started");
  bool written = std::fwrite(script.data(), 1, script.size(), pipe) == script.size();
  int status = ::pclose(pipe);
  shiftgrad::require(written && status == 0, "gnuplot: failed with status ", status);
  return true;
}

}  // namespace char_lm
