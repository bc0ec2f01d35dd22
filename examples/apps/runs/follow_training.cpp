#include "follow_training.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "examples/apps/draw/printable.h"
#include "named_run.h"
#include "out_folder.h"
#include "stop_request.h"

namespace apps {

namespace {

constexpr int a_moment = 100;  // milliseconds

/// Returns early when a signal comes.
void rest() { ::poll(nullptr, 0, a_moment); }

bool is_in_training(const std::string& run) { return is_locked(folder_of(run)); }

bool has_metrics(const std::string& run) {
  return part([&] { return read_course(run); }).value.has_value();
}

}  // namespace

void await_metrics(const std::vector<std::string>& runs) {
  for (const std::string& run : runs) {
    if (!is_in_training(run) || has_metrics(run)) continue;
    std::cout << "waits for the first loss of " << printable(run, longest_line) << std::endl;
    while (is_in_training(run) && !has_metrics(run)) rest();
  }
}

void follow_trainings(const std::vector<std::string>& runs, const std::string& file,
                      const std::function<void(Moment)>& write) {
  using Clock = std::chrono::steady_clock;
  {
    StopRequest stop;
    for (bool first = true; std::ranges::any_of(runs, is_in_training); first = false) {
      write(Moment::training);
      if (first) std::cout << "writes " << file << " while the training goes on" << std::endl;
      Clock::time_point next = Clock::now() + std::chrono::seconds(seconds_between_pages);
      while (stop.signal() == 0 && Clock::now() < next) rest();
      if (stop.signal() == 0) continue;
      write(Moment::stopped);
      stop.check();
    }
  }
  write(Moment::ended);
}

std::filesystem::file_time_type time_of(const std::string& path) {
  std::error_code error;
  auto time = std::filesystem::last_write_time(path, error);
  return error ? std::filesystem::file_time_type::min() : time;
}

}  // namespace apps
