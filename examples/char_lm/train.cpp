#include <memory>
#include <set>

#include "command.h"
#include "config_file.h"
#include "flags.h"
#include "resumed_flags.h"
#include "run_folder.h"
#include "started_flags.h"
#include "training.h"

namespace char_lm {

using shiftgrad::Peers;

namespace {

/// The flags of `train`, and which of them came from the command line or the config file.
struct Asked {
  TrainFlags flags;
  std::set<std::string> given;
  std::string config, init_from;
  bool resume = false;
};

std::unique_ptr<Training> start(TrainFlags flags, Peers& peers) {
  flags.settle();
  return std::make_unique<Training>(flags, read_corpus(flags), nullptr, std::nullopt, peers);
}

/// A new run that begins with the weights of another.
std::unique_ptr<Training> start_from(const std::string& checkpoint, const Asked& asked,
                                     Peers& peers) {
  SavedRun saved = load_checkpoint(checkpoint);
  TrainFlags flags = started_flags(saved.flags, asked.flags, asked.given, saved.source);
  flags.settle();
  auto corpus = read_corpus(flags, &saved.vocabulary);
  return std::make_unique<Training>(flags, corpus, &saved, std::nullopt, peers);
}

/// The run in the folder --out_dir goes on.
std::unique_ptr<Training> resume(const Asked& asked, Peers& peers) {
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

std::unique_ptr<Training> prepare(Asked asked, Peers& peers) {
  if (!asked.config.empty()) asked.given.merge(read_config(asked.config, asked.given, asked.flags));
  auto training = asked.resume              ? resume(asked, peers)
                  : asked.init_from.empty() ? start(asked.flags, peers)
                                            : start_from(asked.init_from, asked, peers);
  training->check_peers();
  return training;
}

}  // namespace

Command train_command(CLI::App& program, Peers& peers) {
  CLI::App* app = program.add_subcommand("train", "Trains a model on a text");
  auto asked = std::make_shared<Asked>();
  asked->flags.visit(
      [&](const std::string& name, auto& value, auto unit, const std::string& description) {
        add_flag(*app, name, value, unit, description);
      });
  add_flag(*app, "config", asked->config, "FILE",
           "flags as a JSON object, {\"n_layer\": 2}; those given beside it win (default: none)");
  CLI::Option* init_from = add_flag(
      *app, "init_from", asked->init_from, "CHECKPOINT",
      "begin with the weights and the vocabulary of this file; --vocab and the flags of the "
      "model are its own, but for --dropout and --dropatt (default: none)");
  add_resume_flag(*app, asked->resume, free_flags(), "texts")->excludes(init_from);
  return {app, [=, &peers]() -> Command::Work {
            asked->flags.visit([&](const std::string& name, auto&&...) {
              if (app->count("--" + name) > 0) asked->given.insert(name);
            });
            auto training = std::make_shared<std::unique_ptr<Training>>(prepare(*asked, peers));
            return [training] { train_until_signal(std::move(*training)); };
          }};
}

}  // namespace char_lm
