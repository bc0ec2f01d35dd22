// char_lm convert writes a trained model anew: as a model of another kind that computes the same,
// or with weights of half the size.

#include "nn/models/convert.h"

#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>

#include "command.h"
#include "core/errors.h"
#include "core/io/float_types.h"
#include "examples/apps/flags/flags.h"
#include "nn/models/run_file.h"
#include "nn/state_dict.h"
#include "run_folder.h"

namespace char_lm {

using apps::RunFolder;
using shiftgrad::Checkpoint;
using shiftgrad::LanguageModel;
using shiftgrad::require;
using shiftgrad::RunFile;

namespace {

struct ConvertFlags {
  std::string run, to, out_dir;
};

/// Converts the model, and sets the flags that would make such a one.
LanguageModel as_transformer_xl(const LanguageModel& model, ModelFlags& flags) {
  LanguageModel converted = to_transformer_xl(model);
  require(model.config.position == shiftgrad::TokenPosition::none, "adds ", model.config.position,
          " positions to its embeddings, which --model transformer_xl does not");
  auto& mixer = std::get<shiftgrad::TransformerXLAttentionConfig>(converted.config.mixer);
  flags.model = mixer.known.name;
  flags.position = name_of(mixer.positions);
  flags.layer_positions.reset();
  flags.tie_position_biases.reset();
  flags.mixer.take_from(mixer);
  return converted;
}

LanguageModel as_aft_full(const LanguageModel& model, ModelFlags& flags) {
  LanguageModel converted = to_aft_full(model);
  auto mixer = std::get<shiftgrad::AftConfig>(converted.config.mixer);
  // To the flags, no rank means the usual one.
  mixer.factor_rank = 0;
  flags.mixer.take_from(mixer);
  return converted;
}

/// Returns the checkpoint of the converted model. It has no state of the training: the moments of
/// an optimizer belong to the parameters as they were.
Checkpoint converted(const SavedRun& run, const ConvertFlags& flags) {
  Checkpoint checkpoint = run.checkpoint;
  TrainFlags training = run.flags;
  LanguageModel model = make_model(checkpoint, run.source);
  LanguageModel result = shiftgrad::in_name_of(run.source, [&] {
    return flags.to == "aft_full" ? as_aft_full(model, training.model)
                                  : as_transformer_xl(model, training.model);
  });
  training.out_dir = flags.out_dir;
  checkpoint.model = result.config;
  checkpoint.state.trainer.clear();
  checkpoint.training = training.to_json();
  checkpoint.weights = state_view(result);
  return checkpoint;
}

/// Returns the run's file with weights in bfloat16, to be handed on: without a state of the
/// training, and without the places of its texts.
RunFile rounded(const SavedRun& run, const ConvertFlags& flags) {
  RunFile file = shiftgrad::read_run_file(run.source);
  TrainFlags training = run.flags;
  training.out_dir = flags.out_dir;
  bool has_texts = !training.data.empty() || !training.val_data.empty();
  training.texts_left_out = training.texts_left_out || has_texts;
  training.data = training.val_data = training.vocab_from = "";
  file.metadata["training"] = training.to_json();
  file.state.trainer.clear();
  file.weights = shiftgrad::in_name_of(run.source, [&] {
    return shiftgrad::in_bfloat16(
        shiftgrad::with_type(std::move(file.weights), shiftgrad::DType::f32));
  });
  return file;
}

/// Writes a converted model to a path.
using Writer = std::function<void(const std::string& path)>;

Writer writer(const SavedRun& run, const ConvertFlags& flags) {
  if (flags.to == "bfloat16")
    return [file = rounded(run, flags)](const std::string& path) { write_run_file(path, file); };
  return [checkpoint = converted(run, flags)](const std::string& path) {
    write_checkpoint(path, checkpoint);
  };
}

/// Returns the paths of the run's checkpoints, by the names that they get. A file alone becomes the
/// best one, which the other commands read.
std::map<std::string, std::string> checkpoints(const std::string& run) {
  std::error_code error;
  if (!std::filesystem::is_directory(run, error)) return {{"best", run}};
  std::map<std::string, std::string> found;
  for (const char* name : {"best", "last"}) {
    std::string path = RunFolder{run}.checkpoint(name);
    if (std::filesystem::exists(path, error)) found[name] = path;
  }
  require(!found.empty(), run, ": holds no checkpoint");
  return found;
}

Command::Work prepare(const ConvertFlags& flags) {
  require(!apps::holds_run(flags.out_dir), "--out_dir ", flags.out_dir,
          ": already holds a run, expected a new folder");
  std::map<std::string, Writer> results;
  for (const auto& [name, path] : checkpoints(flags.run))
    results[name] = writer(load_checkpoint(path), flags);
  return [results, folder = apps::make_run_folder(flags.out_dir)] {
    for (const auto& [name, write] : results) {
      write(folder.checkpoint(name));
      std::cout << folder.checkpoint(name) << '\n';
    }
    std::cout << std::flush;
  };
}

}  // namespace

Command convert_command(CLI::App& program) {
  CLI::App& app = add_command(
      program, "convert",
      "Write a trained model as a model of another kind that computes the same, or in half the "
      "bytes; train --init_from trains it further");
  auto flags = std::make_shared<ConvertFlags>();
  set_required(
      add_argument(app, "OUT_DIR", flags->run, "folder of the training run, or a file in it"));
  set_required(add_flag(app, "to", flags->to, "transformer_xl|aft_full|bfloat16",
                        "transformer_xl: its learned distances, for attention whose terms they can "
                        "express, such as labml; aft_full: aft with --form full and one table, for "
                        "--form local and tables of a --factor_rank; bfloat16: the same model with "
                        "rounded weights, without a state to resume from and without the places "
                        "of its texts"));
  set_required(
      add_flag(app, "out_dir", flags->out_dir, "FOLDER", "folder for the new checkpoints"));
  return {&app, [flags] { return prepare(*flags); }};
}

}  // namespace char_lm
