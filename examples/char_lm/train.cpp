#include <memory>

#include "asked.h"
#include "command.h"
#include "run_folder.h"
#include "training.h"

namespace char_lm {

using shiftgrad::Peers;

namespace {

std::unique_ptr<Training> start(TrainFlags flags, Peers& peers) {
  flags.settle();
  return std::make_unique<Training>(flags, read_corpus(flags), nullptr, std::nullopt, peers);
}

/// A new run that begins with the weights of another.
std::unique_ptr<Training> start_from(const Asked<TrainFlags>& asked, Peers& peers) {
  SavedRun saved = load_checkpoint(asked.init_from);
  TrainFlags flags =
      started_flags(saved.flags, asked.flags, asked.given, weight_flags(), saved.source);
  flags.settle();
  auto corpus = read_corpus(flags, &saved.vocabulary);
  return std::make_unique<Training>(flags, corpus, &saved, std::nullopt, peers);
}

/// The run in the folder --out_dir goes on.
std::unique_ptr<Training> resume(const Asked<TrainFlags>& asked, Peers& peers) {
  // Locked before it is read: nobody else goes on from what this one will.
  const std::string& out_dir = asked.flags.out_dir;
  RunFolder folder = lock_run_folder(out_dir, peers);
  SavedRun saved = load_run(out_dir, "last");
  TrainFlags flags =
      resumed_flags(saved.flags, asked.flags, asked.given, free_flags(), saved.source);
  flags.settle();
  auto corpus = read_corpus(flags, &saved.vocabulary);
  auto training = std::make_unique<Training>(flags, corpus, &saved, folder, peers);
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
  CLI::App* app = program.add_subcommand("train", "Trains a model on a text");
  auto asked = std::make_shared<Asked<TrainFlags>>();
  asked->add_to(*app, "texts", "vocabulary", free_flags());
  return {app, [=, &peers]() -> Command::Work {
            asked->read(*app);
            auto training = std::make_shared<std::unique_ptr<Training>>(prepare(*asked, peers));
            return [training] { train_until_signal(std::move(*training)); };
          }};
}

}  // namespace char_lm
