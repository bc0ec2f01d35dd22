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

/// What happens to symbols that a model does not know: an error whose text ends with the remedy, or
/// new numbers behind the known ones.
struct NewSymbols {
  bool added = false;
  std::string remedy{};
};

/// The rows of a run as tokens. The symbols are those of all rows, or those of the given run and
/// perhaps new ones.
struct Data {
  Symbols source_symbols, target_symbols;
  std::vector<shiftgrad::TokenPair> train, validation;
};
Data read_data(const TrainFlags& flags, const SavedRun* run, const NewSymbols& new_symbols);

/// Returns the name that messages use for the data at a path.
std::string data_name(const std::string& path);

}  // namespace seq2seq
