#pragma once

// A trained model as one safetensors file. The weights are stored under their parameters' names.
// The file's metadata holds what else is needed to use them:
//
//     format      "shiftgrad-1"
//     model       LanguageModelConfig as JSON; `own_mixer` where the mixer is the program's own
//     vocabulary  [10, 32, …]
//     step, train_loss, validation_loss
//     training    the flags it was trained with, as JSON
//
// The tensors needed to resume training may lie beside the weights, under names that begin with
// `trainer.`.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nn/models/language_model.h"
#include "nn/models/run_state.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct Checkpoint {
  LanguageModelConfig model;
  /// The vocabulary: token n stands for vocabulary[n], which is a byte or a code point, as the
  /// program chooses.
  std::vector<int32_t> vocabulary;
  RunState state{};
  /// Flags of the training as a JSON object. Its content is up to the program.
  std::string training = "{}";
  std::map<std::string, StoredTensor> weights;
};

/// Writes the whole file, or leaves the old file and throws one line that begins with the path.
/// Refuses what could not be read back: what read_checkpoint refuses, and weights that do not fit
/// the config, unless the model has a mixer of the program's own.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

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
