#pragma once

// Models in files of runs (nn/models/run_file.h). `save` and `load` are for a model of any kind. A
// checkpoint is a language model that can be made anew from its file alone. The metadata are
//
//     format       "shiftgrad-model-1" of `save`, "shiftgrad-1" of a checkpoint
//     model        SequenceModel::config_text; of a checkpoint the LanguageModelConfig as JSON,
//     with
//                  `own_mixer` where the mixer is the program's own
//     vocabulary   of a checkpoint: [10, 32, …]
//     training     of a checkpoint: the flags it was trained with, as JSON

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nn/models/language_model.h"
#include "nn/models/run_file.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Writes the whole file, or leaves the old file and throws one line that begins with the path.
void save(const SequenceModel& model, const std::string& path, const RunState& state = {});

/// Copies the weights in a file that `save` or, for a LanguageModel, write_checkpoint wrote (a
/// checkpoint of char_lm is one) into the model, and returns the state of its run.
/// Throws one line that begins with the path, and leaves the model as it was, when the file is
/// broken, or was saved by a model of another config.
RunState load(SequenceModel& model, const std::string& path);

/// A language model with its vocabulary, as its file has it.
struct Checkpoint {
  /// The config from which the model is made.
  LanguageModelConfig model;
  /// The vocabulary: token n stands for vocabulary[n], which is a byte or a code point, as the
  /// program chooses.
  std::vector<int32_t> vocabulary;
  /// The numbers of the run, and what resuming it needs.
  RunState state{};
  /// Flags of the training as a JSON object. Its content is up to the program.
  std::string training = "{}";
  /// The parameters by name.
  std::map<std::string, StoredTensor> weights;
};

/// Writes the whole file, or leaves the old file and throws one line that begins with the path.
/// Refuses what could not be read back: what read_checkpoint refuses, and weights that do not fit
/// the config, unless the model has a mixer of the program's own.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// Returns the file of a run as a checkpoint. Throws when it is not one.
Checkpoint as_checkpoint(RunFile file);

/// Reads a checkpoint. Throws one line that begins with the path when the file is missing, cut off,
/// or not a checkpoint. If its format is a later one, the error names it. Every format that was
/// ever written stays readable.
Checkpoint read_checkpoint(const std::string& path);

/// Returns the model with the checkpoint's weights. Fields of the config on which no weight's shape
/// depends, such as clamp_len, may have been changed. A model with a mixer of the program's own
/// needs that mixer's maker; no other model accepts one. Throws one line that begins with `source`
/// when the weights do not fit the config.
LanguageModel make_model(const Checkpoint& checkpoint, const std::string& source,
                         const MixerMaker& own_mixer = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
