#pragma once

#include <string>
#include <vector>

#include "run.h"
#include "train_flags.h"

namespace seq2seq {

/// The training rows and the validation rows of a run. `place` is their name in messages.
struct Rows {
  std::string place;
  std::vector<Row> rows;
};
struct Split {
  Rows train, validation;
};

/// Reads --data and --val_data, or holds back the --eval_split of --data. Adjacent rows of one
/// source are never split. Throws one line for a file that cannot be read.
Split read_split(const TrainFlags& flags);

/// The rows of a run as tokens. The symbols are those of all rows, or those of the given run.
struct Data {
  Symbols source_symbols, target_symbols;
  std::vector<shiftgrad::TokenPair> train, validation;
};
Data read_data(const TrainFlags& flags, const SavedRun* run = nullptr);

/// Returns the name that messages use for the data at a path.
std::string data_name(const std::string& path);

}  // namespace seq2seq
