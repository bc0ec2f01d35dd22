// seq2seq train trains a model on pairs of lines.

#include <memory>
#include <optional>

#include "command.h"
#include "core/errors.h"
#include "examples/apps/flags/train_request.h"
#include "examples/apps/runs/shell_words.h"
#include "new_rows.h"
#include "training.h"

namespace seq2seq {

using apps::shell_command;
using apps::TrainRequest;
using shiftgrad::ProcessGroup;

namespace {

struct Request : TrainRequest<TrainFlags> {
  bool add_symbols = false;
};

std::unique_ptr<Training> training(const Request& request, ProcessGroup& peers) {
  NewSymbols new_symbols{.added = request.add_symbols};
  if (!request.init_from.empty())
    new_symbols.remedy = "; --add_symbols gives new symbols rows of their own";
  return apps::prepare<Training>(
      request, {weight_flags(), free_flags()}, peers, load_checkpoint,
      [&](const TrainFlags& flags, const SavedRun* saved,
          const std::function<apps::RunFolder()>& folder) {
        Data data = read_data(flags, saved, new_symbols);
        std::optional<SavedRun> grown;
        if (saved && request.add_symbols)
          grown =
              with_symbols(*saved, data.source_symbols, data.target_symbols, flags.trainer.seed);
        return std::make_unique<Training>(flags, std::move(data), grown ? &*grown : saved, folder,
                                          peers);
      });
}

}  // namespace

Command train_command(CLI::App& program, ProcessGroup& peers, const std::string& called) {
  CLI::App& app = add_command(program, "train", "Train a model on pairs of lines");
  auto request = std::make_shared<Request>();
  request->add_to(app, "pairs", "symbols", free_flags());
  apps::make_value_optional(app, "skip_bad_rows");
  CLI::Option* adds = apps::add_switch(
      app, "add_symbols", request->add_symbols,
      "with --init_from: characters or words of the pairs that the model does not know get rows of "
      "their own in its embeddings and output, which begin as a new model's of this --seed");
  apps::set_group(adds, shiftgrad::group::run);
  apps::set_examples(
      app, {"seq2seq train", "seq2seq train --data pairs.tsv --encoder labml --out_dir labml",
            "seq2seq train --resume --out_dir labml --max_iters 4000"});
  return {.flags = &app,
          .prepare = [=, &app, &peers]() -> Command::Work {
            request->read(app);
            shiftgrad::require(!request->add_symbols || !request->init_from.empty(),
                               "--add_symbols: expected --init_from");
            auto prepared = std::make_shared<std::unique_ptr<Training>>(training(*request, peers));
            return [prepared, &peers, called, out = request->flags.out_dir] {
              std::string run = apps::as_argument(out);
              apps::train_until_signal(
                  std::move(*prepared), peers, out,
                  {shell_command({called, "eval", run}),
                   shell_command({called, "translate", run}) + " < sources.txt",
                   shell_command({called, "report", run, "--out", run + "/report.html"})});
            };
          },
          .outlives_readers = true};
}

}  // namespace seq2seq
