#pragma once

// An encoder and a decoder that a page trains on pairs of texts, and the search for targets.
// study.h says what each request has and what its answer has.

#include <string>
#include <utility>
#include <vector>

#include "examples/apps/char_lm/vocabulary.h"
#include "nn/models/encoder_decoder.h"
#include "optim/pair_trainer.h"
#include "request.h"

namespace book {

/// A source and its target.
using TextPair = std::pair<std::string, std::string>;

class PairTraining {
 public:
  /// Makes a new model.
  explicit PairTraining(const Json& request);

  /// Trains it, and answers with the losses.
  Json train(const Json& request);
  /// Answers with the steps of a beam search.
  Json beam_search(const Json& request) const;

 private:
  std::string text_of(const std::vector<int32_t>& tokens) const;

  char_lm::Vocabulary vocabulary_;
  int32_t begin_, end_;  // of a target
  shiftgrad::PairTrainerConfig config_;
  shiftgrad::Random random_;
  shiftgrad::EncoderDecoder model_;
};

}  // namespace book
