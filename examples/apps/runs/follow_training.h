#pragma once

// Reports that go on with a training.

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "report.h"

namespace apps {

/// Waits until each run has metrics with a loss, or no training that may write one.
void await_metrics(const std::vector<std::string>& runs);

/// Lets `write` write a file at intervals while a training uses the folder of one of the runs, and
/// at its end. On a signal it lets it write once more, and ends the program.
void follow_trainings(const std::vector<std::string>& runs, const std::string& file,
                      const std::function<void(Moment)>& write);

/// Returns when the file was written, or the least time if there is none.
std::filesystem::file_time_type time_of(const std::string& path);

/// Makes the reports of runs: all of them at the end. Before, `make`(n) is called for runs whose
/// checkpoint, which is `checkpoint`(n), is not that of their report; the others get the newest
/// part of their course.
template <class Report, class Path, class Make>
void renew(std::vector<Report>& reports, const std::vector<std::string>& runs, Moment moment,
           const Path& checkpoint, const Make& make) {
  reports.resize(runs.size());
  for (size_t n = 0; n < runs.size(); ++n) {
    std::filesystem::file_time_type written = time_of(checkpoint(n));
    if (moment == Moment::ended || reports[n].checkpoint != checkpoint(n) ||
        reports[n].written != written) {
      reports[n] = make(n);
      reports[n].written = written;
    } else {
      RunCourse earlier = std::move(reports[n].course.value).value_or(RunCourse());
      reports[n].course = part([&] { return read_course(runs[n], std::move(earlier)); });
    }
  }
}

}  // namespace apps
