#pragma once

// A text read by a trained model, in pieces, as it goes on from request to request: in separate
// segments, in a window that slides, or in segments behind a memory.

#include <cstdint>
#include <memory>
#include <vector>

#include "nn/models/sequence_model.h"
#include "optim/evaluate.h"

namespace book {

using namespace shiftgrad;

class Reading {
 public:
  /// Begins to read. Throws, in the config's words, when the model or the text does not fit it.
  Reading(const SequenceModel& model, std::vector<int32_t> text, const EvaluationConfig& config);

  /// Reads on, and returns -log p of the next tokens, in nats: of `count`, or of those up to the
  /// end of a segment behind them. It returns none at the end of the text.
  std::vector<double> next(int64_t count);

  /// The number of tokens that the model was fed so far.
  int64_t fed() const { return fed_; }

 private:
  /// Feeds `length` tokens from `begin` on, and adds the losses of what follows the last `counted`.
  void feed(int64_t begin, int64_t length, int64_t counted, std::vector<double>& losses);

  const SequenceModel& model_;
  std::vector<int32_t> text_;
  EvaluationConfig config_;
  std::unique_ptr<Cache> cache_;  // null without a memory
  int64_t place_ = 0;             // tokens read
  int64_t fed_ = 0;
};

/// Returns the mean loss in nats at each place of a segment of `tgt_len` tokens. The text is read
/// `tgt_len` times, cut one token later each time, so that each token stands once at each place.
/// The first tokens, which have less before them than a segment and a memory, do not count.
std::vector<double> losses_by_place(const SequenceModel& model, const std::vector<int32_t>& text,
                                    const EvaluationConfig& config);

}  // namespace book
