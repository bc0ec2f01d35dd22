#include "report_flags.h"

namespace common {

CLI::App& add_report_command(CLI::App& program, const std::string& shows, ReportFlags& flags) {
  CLI::App& app = add_command(program, "report",
                              "Write a page about runs, side by side: " + shows +
                                  "; one file that a browser opens from a disk");
  set_required(add_argument(app, "RUN", flags.runs, "folders of training runs, or files in them"));
  add_flag(app, "checkpoint", flags.checkpoint, "best|last", "checkpoint to read");
  return app;
}

void add_report_place(CLI::App& app, ReportFlags& flags) {
  add_flag(app, "out", flags.out, "FILE", "HTML file to write");
}

}  // namespace common
