#include "corpus.h"

#include <cmath>

#include "examples/common/text.h"

namespace char_lm {

using common::read_text;
using common::text_name;

namespace {

/// Returns where a text of `tokens` tokens is cut when this share of it, rounded up, is held back.
int64_t boundary(int64_t tokens, double share) {
  return tokens - static_cast<int64_t>(std::ceil(static_cast<double>(tokens) * share));
}

}  // namespace

std::shared_ptr<const Corpus> read_corpus(const TrainFlags& flags, const Vocabulary* vocabulary) {
  std::string data = read_text(flags.data);
  std::string held_back = flags.val_data.empty() ? "" : read_text(flags.val_data);
  auto corpus = std::make_shared<Corpus>(Vocabulary(unit_of(flags.vocab)));
  if (vocabulary) {
    corpus->vocabulary = *vocabulary;
  } else {
    corpus->vocabulary.add(data, text_name(flags.data));
    corpus->vocabulary.add(held_back, flags.val_data);
  }
  corpus->train = corpus->vocabulary.encode(data, text_name(flags.data));
  if (flags.val_data.empty()) {
    auto cut = corpus->train.begin() + boundary(std::ssize(corpus->train), flags.eval_split);
    corpus->validation.assign(cut, corpus->train.end());
    corpus->train.erase(cut, corpus->train.end());
  } else {
    corpus->validation = corpus->vocabulary.encode(held_back, flags.val_data);
  }
  return corpus;
}

}  // namespace char_lm
