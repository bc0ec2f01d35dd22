#pragma once

// A trained model as one safetensors file: the weights under their parameters' names, and what else
// it takes to use them as the file's metadata:
//
//     format      "shiftgrad-1"
//     model       LanguageModelConfig as JSON; `own_mixer` where the mixer is the program's own
//     vocabulary  [10, 32, …]
//     step, train_loss, validation_loss
//     training    the flags it was trained with, as JSON
//
// What it takes to go on training may lie beside the weights, under names that begin with
// `trainer.`.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shiftgrad/nn/models/language_model.h"
#include "shiftgrad/nn/models/run_state.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

struct Checkpoint {
  LanguageModelConfig model;
  /// Token n stands for vocabulary[n]: a byte or a code point, as the program means it.
  std::vector<int32_t> vocabulary;
  RunState state{};
  /// A JSON object; what is in it is up to the program.
  std::string training = "{}";
  std::map<std::string, StoredTensor> weights;
};

/// Writes the file whole, or leaves what was there and throws one line that begins with the path.
/// Refuses what could not be read back: what read_checkpoint refuses, and weights that are not
/// those of the config, unless the model has a mixer of the program's own.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

/// Throws one line that begins with the path when the file is missing, cut off, or not such a
/// checkpoint, and names its format when that is a later one. Formats that were written once stay
/// readable.
Checkpoint read_checkpoint(const std::string& path);

/// The model with the checkpoint's weights. The config may have been changed where no weight's
/// shape depends on it, such as clamp_len. A model with a mixer of the program's own needs the
/// maker of it, and no other takes one. Throws one line that begins with `source` when the weights
/// do not fit the config.
LanguageModel make_model(const Checkpoint& checkpoint, const std::string& source,
                         const MixerMaker& own_mixer = {});

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
