// char_lm train trains a model on a text file.

#include <memory>

#include "command.h"
#include "examples/common/shell_words.h"
#include "examples/common/train_request.h"
#include "run_folder.h"
#include "training.h"

namespace char_lm {

using common::RunFolder;
using common::shell_command;
using common::train_until_signal;
using common::TrainRequest;
using shiftgrad::Peers;

namespace {

std::unique_ptr<Training> training(const TrainRequest<TrainFlags>& request, Peers& peers) {
  return common::prepare<Training>(
      request, weight_flags(), free_flags(), peers, load_checkpoint,
      [&](const TrainFlags& flags, const SavedRun* saved,
          const std::function<RunFolder()>& folder) {
        auto corpus = read_corpus(flags, saved ? &saved->vocabulary : nullptr);
        return std::make_unique<Training>(flags, corpus, saved, folder, peers);
      });
}

}  // namespace

Command train_command(CLI::App& program, Peers& peers) {
  CLI::App& app = add_command(program, "train", "Train a model on a text file");
  auto request = std::make_shared<TrainRequest<TrainFlags>>();
  request->add_to(app, "texts", "vocabulary", free_flags());
  common::set_examples(
      app, {"char_lm train", "char_lm train --data text.txt --model labml --out_dir labml",
            "char_lm train --resume --out_dir labml --max_iters 4000"});
  return {&app, [=, &app, &peers]() -> Command::Work {
            request->read(app);
            auto prepared = std::make_shared<std::unique_ptr<Training>>(training(*request, peers));
            return [prepared, &peers, out = request->flags.out_dir] {
              std::string run = common::as_argument(out);
              train_until_signal(
                  std::move(*prepared), peers, out,
                  {shell_command({"char_lm", "eval", run}),
                   shell_command({"char_lm", "generate", run}),
                   shell_command({"char_lm", "report", run, "--out", run + "/report.html"})});
            };
          }};
}

}  // namespace char_lm
