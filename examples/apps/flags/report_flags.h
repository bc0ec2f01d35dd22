#pragma once

#include <string>
#include <vector>

#include "examples/apps/draw/progress.h"
#include "examples/apps/runs/follow_training.h"
#include "examples/apps/runs/named_run.h"
#include "flags.h"

namespace apps {

/// The flags of the command `report` that all programs have.
struct ReportFlags {
  std::vector<std::string> runs;
  std::string checkpoint = "best";
  std::string out = "report.html";
  bool follow = false;

  /// Returns which checkpoint of a run to read: --checkpoint, or the last while a training that is
  /// followed has no such one.
  std::string checkpoint_in(const std::string& run) const;
};

/// Adds the command, and its argument RUN and --checkpoint. `shows` says what the page has of a
/// run.
CLI::App& add_report_command(CLI::App& program, const std::string& shows, ReportFlags& flags);
/// Adds --out and --follow, which come after the flags of the program's own.
void add_report_place(CLI::App& app, ReportFlags& flags);

/// Writes the page of a report once, or with --follow while a training goes on and at its end:
/// `write(reports, moment)` writes it, and `make(n, moment)` makes the report of run n.
template <class Report, class Make, class Write>
void write_reports(const ReportFlags& flags, const Make& make, const Write& write) {
  std::vector<Report> reports;
  auto write_at = [&](Moment moment) {
    Progress progress("runs");
    auto checkpoint = [&](size_t n) {
      return checkpoint_of(flags.runs[n], flags.checkpoint_in(flags.runs[n]));
    };
    renew(reports, flags.runs, moment, checkpoint, [&](size_t n) {
      progress.show(static_cast<int64_t>(n), std::ssize(flags.runs));
      return make(n, moment);
    });
    progress.pause();
    write(reports, moment);
  };
  if (flags.follow) return follow_trainings(flags.runs, flags.out, write_at);
  write_at(Moment::ended);
}

}  // namespace apps
