#pragma once

#include <string>
#include <vector>

#include "flags.h"

namespace common {

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

}  // namespace common
