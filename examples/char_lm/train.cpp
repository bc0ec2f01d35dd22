#include <memory>
#include <set>

#include "command.h"
#include "config_file.h"
#include "flags.h"
#include "resumed_flags.h"
#include "run_folder.h"
#include "stop_request.h"
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

std::string free_flags_listed() {
  std::string list;
  for (const std::string& name : free_flags()) list += (list.empty() ? "--" : ", --") + name;
  return list;
}

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
  RunFolder folder{out_dir, peers.rank() == 0 ? std::make_shared<FolderLock>(out_dir) : nullptr};
  SavedRun saved = load_run(out_dir, "last");
  TrainFlags flags = resumed_flags(saved.flags, asked.flags, asked.given, saved.source);
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

/// Trains until the end or a signal; which of both, the exit status says.
void work(std::unique_ptr<Training> training) {
  StopRequest stop;
  training->run([&] { return stop.signal() != 0; });
  training.reset();
  if (stop.signal() != 0) leave_by(stop.signal());
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
  app->add_flag("--resume", asked->resume,
                "go on with the run in --out_dir from its last checkpoint, bit for bit and with "
                "its flags; of the others only these may change: " +
                    free_flags_listed() + " (the same texts in another place)")
      ->excludes(init_from);
  app->footer(
      "SIGINT and SIGTERM save a checkpoint after the step under way and then end the program "
      "(status 130 or 143); a second one ends it at once. In a build with MPI, the processes that "
      "mpirun starts train one model.");
  return {app, [=, &peers]() -> Command::Work {
            asked->flags.visit([&](const std::string& name, auto&&...) {
              if (app->count("--" + name) > 0) asked->given.insert(name);
            });
            auto training = std::make_shared<std::unique_ptr<Training>>(prepare(*asked, peers));
            return [training] { work(std::move(*training)); };
          }};
}

}  // namespace char_lm
