// seq2seq train trains a model on pairs of lines.

#include <memory>

#include "command.h"
#include "examples/apps/flags/train_request.h"
#include "examples/apps/runs/shell_words.h"
#include "training.h"

namespace seq2seq {

using common::shell_command;
using common::TrainRequest;
using shiftgrad::Peers;

namespace {

std::unique_ptr<Training> training(const TrainRequest<TrainFlags>& request, Peers& peers) {
  return common::prepare<Training>(request, {weight_flags(), free_flags()}, peers, load_checkpoint,
                                   [&](const TrainFlags& flags, const SavedRun* saved,
                                       const std::function<common::RunFolder()>& folder) {
                                     return std::make_unique<Training>(flags, saved, folder, peers);
                                   });
}

}  // namespace

Command train_command(CLI::App& program, Peers& peers) {
  CLI::App& app = add_command(program, "train", "Train a model on pairs of lines");
  auto request = std::make_shared<TrainRequest<TrainFlags>>();
  request->add_to(app, "pairs", "symbols", free_flags());
  common::make_value_optional(app, "skip_bad_rows");
  common::set_examples(
      app, {"seq2seq train", "seq2seq train --data pairs.tsv --encoder labml --out_dir labml",
            "seq2seq train --resume --out_dir labml --max_iters 4000"});
  return {&app, [=, &app, &peers]() -> Command::Work {
            request->read(app);
            auto prepared = std::make_shared<std::unique_ptr<Training>>(training(*request, peers));
            return [prepared, &peers, out = request->flags.out_dir] {
              std::string run = common::as_argument(out);
              common::train_until_signal(
                  std::move(*prepared), peers, out,
                  {shell_command({"seq2seq", "eval", run}),
                   shell_command({"seq2seq", "translate", run}) + " < sources.txt",
                   shell_command({"seq2seq", "report", run, "--out", run + "/report.html"})});
            };
          }};
}

}  // namespace seq2seq
