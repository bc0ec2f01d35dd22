#pragma once

// A model of any kind and the state of its run, as one safetensors file. The weights are stored
// under their parameters' names. The metadata is
//
//     format   "shiftgrad-model-1"
//     model    SequenceModel::config_text
//     step, train_loss, validation_loss
//
// The tensors needed to resume training lie beside the weights, under names that begin with
// `trainer.`.

#include <string>

#include "nn/models/run_state.h"
#include "nn/models/sequence_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Writes the whole file, or leaves the old file and throws one line that begins with the path.
void save(const SequenceModel& model, const std::string& path, const RunState& state = {});

/// Copies the weights in a file that `save` or, for a LanguageModel, write_checkpoint wrote (a
/// checkpoint of char_lm is one) into the model, and returns the state of its run.
/// Throws one line that begins with the path, and leaves the model as it was, when the file is
/// broken, or was saved by a model of another config.
RunState load(SequenceModel& model, const std::string& path);

/// Returns the config text of the model in such a file.
std::string saved_config(const std::string& path);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
