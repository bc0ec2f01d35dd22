#include <memory>
#include <set>

#include "command.h"
#include "examples/char_lm/flags.h"
#include "examples/char_lm/resumed_flags.h"
#include "training.h"

namespace seq2seq {

using shiftgrad::Peers;

namespace {

struct Asked {
  TrainFlags flags;
  std::set<std::string> given;
  bool resume = false;
};

std::unique_ptr<Training> prepare(const Asked& asked, Peers& peers) {
  TrainFlags flags = asked.flags;
  if (!asked.resume) {
    flags.settle();
    return std::make_unique<Training>(flags, nullptr, std::nullopt, peers);
  }
  // Locked before it is read: nobody else goes on from what this one will.
  char_lm::RunFolder folder = char_lm::lock_run_folder(flags.out_dir, peers);
  SavedRun saved = load_run(flags.out_dir, "last");
  flags = char_lm::resumed_flags(saved.flags, asked.flags, asked.given, free_flags(), saved.source);
  flags.settle();
  return std::make_unique<Training>(flags, &saved, folder, peers);
}

}  // namespace

Command train_command(CLI::App& program, Peers& peers) {
  CLI::App* app = program.add_subcommand("train", "Trains a model on pairs of lines");
  auto asked = std::make_shared<Asked>();
  asked->flags.visit(
      [&](const std::string& name, auto& value, auto unit, const std::string& description) {
        char_lm::add_flag(*app, name, value, unit, description);
      });
  app->get_option("--skip_bad_rows")->expected(0, 1)->default_str("true");
  char_lm::add_resume_flag(*app, asked->resume, free_flags(), "pairs");
  return {app, [=, &peers]() -> Command::Work {
            asked->flags.visit([&](const std::string& name, auto&&...) {
              if (app->count("--" + name) > 0) asked->given.insert(name);
            });
            auto training = std::make_shared<std::unique_ptr<Training>>(prepare(*asked, peers));
            (*training)->check_peers();
            return [training] { char_lm::train_until_signal(std::move(*training)); };
          }};
}

}  // namespace seq2seq
