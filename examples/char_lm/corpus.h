#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train_flags.h"
#include "vocabulary.h"

namespace char_lm {

/// The texts of a run as tokens: the training text and the validation text.
struct Corpus {
  explicit Corpus(const Vocabulary& known) : vocabulary(known) {}
  Vocabulary vocabulary;
  std::vector<int32_t> train, validation;
};

/// Reads --data and --val_data, or holds back the --eval_split of --data. The vocabulary covers
/// both texts, unless one is given. Throws one line for a file that cannot be read or does not
/// consist of what --vocab says, and for a character that the given vocabulary does not have.
std::shared_ptr<const Corpus> read_corpus(const TrainFlags& flags,
                                          const Vocabulary* vocabulary = nullptr);

}  // namespace char_lm
