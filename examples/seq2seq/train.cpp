#include <memory>
#include <set>

#include "command.h"
#include "examples/char_lm/flags.h"
#include "examples/char_lm/stop_request.h"
#include "training.h"

namespace seq2seq {

namespace {

struct Asked {
  TrainFlags flags;
  std::set<std::string> given;
  bool resume = false;
};

std::string free_flags_listed() {
  std::string list;
  for (const std::string& name : free_flags()) list += (list.empty() ? "--" : ", --") + name;
  return list;
}

std::unique_ptr<Training> prepare(const Asked& asked) {
  TrainFlags flags = asked.flags;
  if (!asked.resume) {
    flags.settle();
    return std::make_unique<Training>(flags);
  }
  // Locked before it is read: nobody else goes on from what this one will.
  char_lm::RunFolder folder{flags.out_dir, std::make_shared<char_lm::FolderLock>(flags.out_dir)};
  SavedRun saved = load_run(flags.out_dir, "last");
  flags = resumed_flags(saved.flags, asked.flags, asked.given, saved.source);
  flags.settle();
  return std::make_unique<Training>(flags, &saved, folder);
}

/// Trains until the end or a signal; which of both, the exit status says.
void work(std::unique_ptr<Training> training) {
  char_lm::StopRequest stop;
  training->run([&] { return stop.signal() != 0; });
  training.reset();
  if (stop.signal() != 0) char_lm::leave_by(stop.signal());
}

}  // namespace

Command train_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("train", "Trains a model on pairs of lines");
  auto asked = std::make_shared<Asked>();
  asked->flags.visit(
      [&](const std::string& name, auto& value, auto unit, const std::string& description) {
        char_lm::add_flag(*app, name, value, unit, description);
      });
  app->get_option("--skip_bad_rows")->expected(0, 1)->default_str("true");
  app->add_flag("--resume", asked->resume,
                "go on with the run in --out_dir from its last checkpoint, bit for bit and with "
                "its flags; of the others only these may change: " +
                    free_flags_listed() + " (the same pairs in another place)");
  app->footer(
      "SIGINT and SIGTERM save a checkpoint after the step under way and then end the program "
      "(status 130 or 143); a second one ends it at once.");
  return {app, [=]() -> Command::Work {
            asked->flags.visit([&](const std::string& name, auto&&...) {
              if (app->count("--" + name) > 0) asked->given.insert(name);
            });
            auto training = std::make_shared<std::unique_ptr<Training>>(prepare(*asked));
            return [training] { work(std::move(*training)); };
          }};
}

}  // namespace seq2seq
