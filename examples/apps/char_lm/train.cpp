// char_lm train trains a model on a text file.

#include <memory>
#include <optional>

#include "command.h"
#include "core/errors.h"
#include "examples/apps/flags/train_request.h"
#include "examples/apps/runs/shell_words.h"
#include "new_rows.h"
#include "run_folder.h"
#include "training.h"

namespace char_lm {

using apps::RunFolder;
using apps::shell_command;
using apps::train_until_signal;
using apps::TrainRequest;
using shiftgrad::ProcessGroup;

namespace {

struct Request : TrainRequest<TrainFlags> {
  bool add_characters = false;
};

/// Returns what to do about a text with characters that the vocabulary does not have.
std::string remedy(const Request& request) {
  if (!request.init_from.empty())
    return "; --add_characters gives new characters rows of their own";
  return request.resume ? "" : "; --vocab_from has to name all that the texts have";
}

std::unique_ptr<Training> training(const Request& request, ProcessGroup& peers) {
  return apps::prepare<Training>(
      request, changeable_flags(), peers, load_checkpoint,
      [&](const TrainFlags& flags, const SavedRun* saved,
          const std::function<RunFolder()>& folder) {
        if (saved) check_lengths(saved->flags, flags, request.resume, saved->source);
        bool adds = saved && request.add_characters;
        auto corpus =
            read_corpus(flags, saved ? &saved->vocabulary : nullptr,
                        adds ? NewCharacters::added : NewCharacters::refused, remedy(request));
        std::optional<SavedRun> grown;
        if (adds) grown = with_vocabulary(*saved, corpus->vocabulary, flags.trainer.seed);
        return std::make_unique<Training>(flags, corpus, grown ? &*grown : saved, folder, peers);
      });
}

}  // namespace

Command train_command(CLI::App& program, ProcessGroup& peers, const std::string& called) {
  CLI::App& app = add_command(program, "train", "Train a model on a text file");
  auto request = std::make_shared<Request>();
  request->add_to(app, "texts", "vocabulary", changeable_flags().free);
  CLI::Option* adds = add_switch(
      app, "add_characters", request->add_characters,
      "with --init_from: characters of the texts that the model does not know get rows of their "
      "own in its embedding and output, which begin as a new model's of this --seed");
  apps::set_group(adds, shiftgrad::group::run);
  apps::set_examples(
      app, {"char_lm train", "char_lm train --data text.txt --model labml --out_dir labml",
            "char_lm train --resume --out_dir labml --max_iters 4000"});
  return {.flags = &app,
          .prepare = [=, &app, &peers]() -> Command::Work {
            request->read(app);
            shiftgrad::require(!request->add_characters || !request->init_from.empty(),
                               "--add_characters: expected --init_from");
            auto prepared = std::make_shared<std::unique_ptr<Training>>(training(*request, peers));
            return [prepared, &peers, called, out = request->flags.out_dir] {
              std::string run = apps::as_argument(out);
              train_until_signal(
                  std::move(*prepared), peers, out,
                  {shell_command({called, "eval", run}), shell_command({called, "generate", run}),
                   shell_command({called, "report", run, "--out", run + "/report.html"})});
            };
          },
          .outlives_readers = true};
}

}  // namespace char_lm
