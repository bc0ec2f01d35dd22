#include "progress.h"

#include "core/errors.h"

namespace apps {

using shiftgrad::text;

void Progress::show(int64_t done, int64_t total) {
  if (!line_.is_due()) return;
  double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  if (total == 0) return line_.draw(text(done, ' ', unit_, "  ", clock_time(elapsed)));
  double share = static_cast<double>(done) / static_cast<double>(total);
  std::string left = done > 0 ? "  ETA " + clock_time(elapsed / share - elapsed) : "";
  line_.draw(text(done, '/', total, ' ', unit_, left), share);
}

}  // namespace apps
