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
  shiftgrad::KeptText train, validation;
};

/// What a corpus does about characters that the given vocabulary does not have.
enum class NewCharacters { refused, added };

/// Reads --data and --val_data, or holds back the --eval_split of --data. The vocabulary is the
/// given one, or that of --vocab_from, or else covers both texts. Throws one line for a file that
/// cannot be read or does not consist of what --vocab says, and for characters that the vocabulary
/// does not have, unless they are added to the given one; `remedy` ends the message.
std::shared_ptr<const Corpus> read_corpus(const TrainFlags& flags,
                                          const Vocabulary* vocabulary = nullptr,
                                          NewCharacters characters = NewCharacters::refused,
                                          const std::string& remedy = "");

}  // namespace char_lm
