#include "report_flags.h"

#include <filesystem>

#include "examples/apps/runs/named_run.h"

namespace apps {

std::string ReportFlags::checkpoint_in(const std::string& run) const {
  if (!follow || std::filesystem::exists(checkpoint_of(run, checkpoint))) return checkpoint;
  return "last";
}

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
  add_switch(app, "follow", flags.follow,
             "while a training of these runs goes on, write the file anew every few seconds, which "
             "a browser then shows; Ctrl-C stops that");
}

}  // namespace apps
