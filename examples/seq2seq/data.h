#pragma once

#include <string>
#include <vector>

#include "run.h"
#include "train_flags.h"

namespace seq2seq {

/// The rows of a run: what is trained on, and what is not. `place` is how messages call them.
struct Rows {
  std::string place;
  std::vector<Row> rows;
};
struct Split {
  Rows train, validation;
};

/// Reads --data and --val_data, or holds back the --eval_split of the first, but never a part of
/// the rows of one source that stand together. Throws one line at a file that cannot be read.
Split read_split(const TrainFlags& flags);

/// The same as tokens. The symbols are those of all rows, or of the run that is given.
struct Data {
  Symbols source_symbols, target_symbols;
  std::vector<shiftgrad::TokenPair> train, validation;
};
Data read_data(const TrainFlags& flags, const SavedRun* run = nullptr);

/// How messages call the data of a path.
std::string data_name(const std::string& path);

}  // namespace seq2seq
