#include <memory>
#include <set>

#include "command.h"
#include "core/errors.h"
#include "flags.h"
#include "resumed_flags.h"
#include "run_folder.h"
#include "stop_request.h"
#include "training.h"

namespace char_lm {

namespace {

std::string free_flags_listed() {
  std::string list;
  for (const std::string& name : free_flags()) list += (list.empty() ? "--" : ", --") + name;
  return list;
}

std::unique_ptr<Training> start(TrainFlags flags) {
  flags.settle();
  return std::make_unique<Training>(flags);
}

/// Goes on with the run in the folder that `asked` names, whatever else was given.
std::unique_ptr<Training> resume(const TrainFlags& asked, const std::set<std::string>& given) {
  SavedRun saved = load_run(asked.out_dir, "last");
  TrainFlags flags = resumed_flags(saved.flags, asked, given, saved.source);
  flags.settle();
  return std::make_unique<Training>(flags, &saved);
}

/// Trains until the end or a signal; which of both, the exit status says.
void work(std::unique_ptr<Training> training) {
  StopRequest stop;
  training->run([&] { return stop.signal() != 0; });
  training.reset();
  if (stop.signal() != 0) leave_by(stop.signal());
}

}  // namespace

Command train_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("train", "Trains a model on a text");
  auto flags = std::make_shared<TrainFlags>();
  auto resumed = std::make_shared<bool>(false);
  flags->visit(
      [&](const std::string& name, auto& value, auto unit, const std::string& description) {
        add_flag(*app, name, value, unit, description);
      });
  app->add_flag("--resume", *resumed,
                "go on with the run in --out_dir from its last checkpoint, bit for bit and with "
                "its flags; of the others only these may change: " +
                    free_flags_listed() + " (the same text in another place)");
  app->footer(
      "SIGINT and SIGTERM save a checkpoint after the step under way and then end the program "
      "(status 130 or 143); a second one ends it at once.");
  return {app, [=]() -> Command::Work {
            std::set<std::string> given;
            flags->visit([&](const std::string& name, auto&&...) {
              if (app->count("--" + name) > 0) given.insert(name);
            });
            auto training = std::make_shared<std::unique_ptr<Training>>(
                *resumed ? resume(*flags, given) : start(*flags));
            return [training] { work(std::move(*training)); };
          }};
}

}  // namespace char_lm
