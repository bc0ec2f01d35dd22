#include "run_folder.h"

#include <algorithm>
#include <utility>

#include "examples/apps/runs/weights.h"
#include "examples/apps/runs/writers.h"

namespace char_lm {

using apps::checkpoint_of;

SavedRun saved_run(shiftgrad::Checkpoint checkpoint, const std::string& path) {
  TrainFlags flags = TrainFlags::from_json(checkpoint.training, path);
  Vocabulary vocabulary = vocabulary_of(checkpoint, path);
  // A file of another program need not name the unit.
  if (vocabulary.unit() != unit_of(flags.vocab)) flags.vocab = "characters";
  return {path, std::move(checkpoint), flags, vocabulary};
}

SavedRun load_checkpoint(const std::string& path) {
  shiftgrad::Checkpoint checkpoint = shiftgrad::read_checkpoint(path);
  std::string version = checkpoint.version;
  auto read = [&] { return saved_run(std::move(checkpoint), path); };
  SavedRun run = shiftgrad::in_spite_of_version(version, read);
  apps::note_writer(path, version);
  return run;
}

SavedRun load_run(const std::string& run, const std::string& name) {
  return load_checkpoint(checkpoint_of(run, name));
}

shiftgrad::LanguageModel usable_model(const SavedRun& run) {
  shiftgrad::LanguageModel model =
      make_model(run.checkpoint, run.source, own_mixer(run.flags.model));
  apps::check_weights(model, run.source);
  return model;
}

std::string usual_prompt(const Vocabulary& vocabulary) {
  bool knows_newline = std::ranges::binary_search(vocabulary.codes(), '\n');
  return knows_newline ? "\n" : vocabulary.decode(0);
}

shiftgrad::GenerateOptions generation_options(const TrainFlags& flags,
                                              const shiftgrad::LanguageModelConfig& model,
                                              shiftgrad::GenerateOptions options) {
  options.mem_len = flags.generation_mem_len();
  if (model.position == shiftgrad::TokenPosition::sinusoid)
    options.positions = flags.trained_positions();
  return options;
}

shiftgrad::GenerateOptions generation_options(const SavedRun& run,
                                              shiftgrad::GenerateOptions options) {
  return generation_options(run.flags, run.checkpoint.model, std::move(options));
}

}  // namespace char_lm
