#include <memory>

#include "command.h"
#include "examples/char_lm/asked.h"
#include "training.h"

namespace seq2seq {

using char_lm::Asked;
using shiftgrad::Peers;

namespace {

std::unique_ptr<Training> start(TrainFlags flags, Peers& peers) {
  flags.settle();
  return std::make_unique<Training>(flags, nullptr, std::nullopt, peers);
}

/// A new run that begins with the weights of another.
std::unique_ptr<Training> start_from(const Asked<TrainFlags>& asked, Peers& peers) {
  SavedRun saved = load_checkpoint(asked.init_from);
  TrainFlags flags =
      char_lm::started_flags(saved.flags, asked.flags, asked.given, weight_flags(), saved.source);
  flags.settle();
  return std::make_unique<Training>(flags, &saved, std::nullopt, peers);
}

/// The run in the folder --out_dir goes on.
std::unique_ptr<Training> resume(const Asked<TrainFlags>& asked, Peers& peers) {
  // Locked before it is read: nobody else goes on from what this one will.
  const std::string& out_dir = asked.flags.out_dir;
  char_lm::RunFolder folder = char_lm::lock_run_folder(out_dir, peers);
  SavedRun saved = load_run(out_dir, "last");
  TrainFlags flags =
      char_lm::resumed_flags(saved.flags, asked.flags, asked.given, free_flags(), saved.source);
  flags.settle();
  auto training = std::make_unique<Training>(flags, &saved, folder, peers);
  training->resume(saved);
  return training;
}

std::unique_ptr<Training> prepare(const Asked<TrainFlags>& asked, Peers& peers) {
  auto training = asked.resume              ? resume(asked, peers)
                  : asked.init_from.empty() ? start(asked.flags, peers)
                                            : start_from(asked, peers);
  training->check_peers();
  return training;
}

}  // namespace

Command train_command(CLI::App& program, Peers& peers) {
  CLI::App* app = program.add_subcommand("train", "Trains a model on pairs of lines");
  auto asked = std::make_shared<Asked<TrainFlags>>();
  asked->add_to(*app, "pairs", "symbols", free_flags());
  app->get_option("--skip_bad_rows")->expected(0, 1)->default_str("true");
  return {app, [=, &peers]() -> Command::Work {
            asked->read(*app);
            auto training = std::make_shared<std::unique_ptr<Training>>(prepare(*asked, peers));
            return [training] { char_lm::train_until_signal(std::move(*training)); };
          }};
}

}  // namespace seq2seq
