#include "training_progress.h"

#include <iostream>

#include "core/errors.h"
#include "examples/apps/draw/fixed.h"
#include "examples/apps/draw/printable.h"

namespace apps {

TrainingProgress::TrainingProgress(int64_t steps, int64_t lines_interval, bool plain)
    : steps_(steps), lines_interval_(lines_interval), has_bar_(!plain && bar_.is_visible()) {}

std::string TrainingProgress::status(int64_t step, double loss, double tokens_per_second) const {
  double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  double left = elapsed / static_cast<double>(step - first_) * static_cast<double>(steps_ - step);
  return shiftgrad::text("step ", step, '/', steps_, "  loss ", fixed(loss, 3), "  ",
                         fixed(tokens_per_second / 1000, 1), "k tokens/s  ETA ", clock_time(left));
}

void TrainingProgress::show(int64_t step, double loss, double tokens_per_second) {
  if (!has_bar_) {
    if (step % lines_interval_ == 0 || step == steps_) print(status(step, loss, tokens_per_second));
  } else if (bar_.is_due() || step == steps_) {
    bar_.draw(status(step, loss, tokens_per_second),
              static_cast<double>(step) / static_cast<double>(steps_));
  }
}

void TrainingProgress::show_evaluation(int64_t step, int64_t done, int64_t total) {
  if (!has_bar_ || !bar_.is_due()) return;
  bar_.draw(shiftgrad::text("step ", step, '/', steps_, "  evaluating"),
            static_cast<double>(done) / static_cast<double>(total));
}

void TrainingProgress::print(const std::string& line) {
  bar_.erase();
  std::cout << printable(line, longest_line) << std::endl;
}

}  // namespace apps
