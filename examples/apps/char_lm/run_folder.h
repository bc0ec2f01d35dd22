#pragma once

#include <string>
#include <vector>

#include "examples/apps/runs/named_run.h"
#include "examples/apps/runs/out_folder.h"
#include "nn/models/checkpoint.h"
#include "nn/models/generate.h"
#include "train_flags.h"
#include "vocabulary.h"

namespace char_lm {

using apps::run_names;

/// A checkpoint and its metadata.
struct SavedRun {
  std::string source;
  shiftgrad::Checkpoint checkpoint;
  TrainFlags flags;
  Vocabulary vocabulary;
};

/// Returns a checkpoint as a run of this program. Weights in BF16, F16 and F64 become floats.
/// Throws one line that begins with the path when it was not written by this program.
SavedRun saved_run(shiftgrad::Checkpoint checkpoint, const std::string& path);

/// Reads the checkpoint in a file and returns it as saved_run does. Throws one line that begins
/// with the path when the file is missing or broken, too.
SavedRun load_checkpoint(const std::string& path);

/// Reads the checkpoint of a run, which checkpoint_of finds. Throws as both functions do.
SavedRun load_run(const std::string& run, const std::string& name);

/// Returns the run's model to compute with. Throws one line that begins with the path when the
/// weights do not fit, or are not finite.
shiftgrad::LanguageModel usable_model(const SavedRun& run);

/// Returns the prompt when none is given: a newline, or for a model that does not know it, the
/// first of its characters.
std::string usual_prompt(const Vocabulary& vocabulary);
/// What --help says of it.
constexpr const char* prompt_default =
    " (default: a newline, or the first character of a model that knows none)";

/// Returns the options with the memory and the positions of a training, or of a run's.
shiftgrad::GenerateOptions generation_options(const TrainFlags& flags,
                                              const shiftgrad::LanguageModelConfig& model,
                                              shiftgrad::GenerateOptions options);
shiftgrad::GenerateOptions generation_options(const SavedRun& run,
                                              shiftgrad::GenerateOptions options);

}  // namespace char_lm
