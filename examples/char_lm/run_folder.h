#pragma once

#include <string>
#include <vector>

#include "examples/common/out_folder.h"
#include "shiftgrad/nn/models/checkpoint.h"
#include "train_flags.h"
#include "vocabulary.h"

namespace char_lm {

/// What pictures and tables call the runs: the folders' own names, or the whole paths of those that
/// share one.
std::vector<std::string> run_names(const std::vector<std::string>& out_dirs);

/// A checkpoint with what its metadata says.
struct SavedRun {
  std::string source;
  shiftgrad::Checkpoint checkpoint;
  TrainFlags flags;
  Vocabulary vocabulary;
};

/// The checkpoint in a file. Throws one line that begins with its path when it is missing, broken,
/// or not by this program.
SavedRun load_checkpoint(const std::string& path);

/// The checkpoint of a run, named as checkpoint_of has it; throws as both do.
SavedRun load_run(const std::string& run, const std::string& name);

}  // namespace char_lm
