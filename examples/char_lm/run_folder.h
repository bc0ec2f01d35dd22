#pragma once

#include <string>
#include <vector>

#include "examples/common/out_folder.h"
#include "shiftgrad/nn/models/checkpoint.h"
#include "train_flags.h"
#include "vocabulary.h"

namespace char_lm {

/// Returns the names of the runs for pictures and tables: the folders' own names, or whole paths
/// for folders that share a name.
std::vector<std::string> run_names(const std::vector<std::string>& out_dirs);

/// A checkpoint and its metadata.
struct SavedRun {
  std::string source;
  shiftgrad::Checkpoint checkpoint;
  TrainFlags flags;
  Vocabulary vocabulary;
};

/// Reads the checkpoint in a file. Throws one line that begins with the path when the file is
/// missing, broken, or not written by this program.
SavedRun load_checkpoint(const std::string& path);

/// Reads the checkpoint of a run, which checkpoint_of finds. Throws as both functions do.
SavedRun load_run(const std::string& run, const std::string& name);

}  // namespace char_lm
