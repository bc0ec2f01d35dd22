#pragma once

// The weights of any module in a file of a run (nn/models/run_file.h), with the config that they
// belong to. The metadata are
//
//     format   "shiftgrad-model-1"
//     model    the config as a JSON object; of a SequenceModel, its config_text

#include <string>

#include "nn/models/run_file.h"
#include "nn/models/sequence_model.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// Whether a file of floats is read by a build of doubles, and the other way round.
enum class FloatWidth { same, any };

/// Writes the whole file, or leaves the old file and throws one line that begins with the path.
/// `config` is a JSON object of the program's own, such as config_to_json of a config of the
/// library; `load` compares it. PyTorch: torch.save(module.state_dict(), path).
void save(const Module& module, const std::string& path, const std::string& config = "{}",
          const RunState& state = {});

/// Copies the weights in a file that `save` wrote into the module, and returns the state of its
/// run. Throws one line that begins with the path, and leaves the module as it was, when the file
/// is broken, was saved with another config, or has other names, shapes or types than the module's.
/// A disk that fails while the values are read throws, too, and leaves some of them read. With
/// FloatWidth::any, floats of another width are rounded to Scalar.
RunState load(Module& module, const std::string& path, const std::string& config = "{}",
              FloatWidth width = FloatWidth::same);

/// Saves a model with its config_text.
void save(const SequenceModel& model, const std::string& path, const RunState& state = {});

/// Loads the weights of a model, whose config_text is compared. A LanguageModel may be in a file
/// that write_checkpoint wrote, such as a checkpoint of char_lm. Floats may have any width.
RunState load(SequenceModel& model, const std::string& path);

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
