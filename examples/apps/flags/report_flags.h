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
};

/// Adds the command, and its argument RUN and --checkpoint. `shows` says what the page has of a
/// run.
CLI::App& add_report_command(CLI::App& program, const std::string& shows, ReportFlags& flags);
/// Adds --out, which comes after the flags of the program's own.
void add_report_place(CLI::App& app, ReportFlags& flags);

}  // namespace common
