#pragma once

// Pairs of sequences in batches of similar length, so that little of a batch is filled up.

#include <cstdint>
#include <span>
#include <vector>

#include "shiftgrad/core/random.h"
#include "shiftgrad/nn/models/encoder_decoder.h"

namespace shiftgrad::SHIFTGRAD_PRECISION {

/// A source and its target, without begin and end.
struct TokenPair {
  std::vector<int32_t> source, target;
};

/// The tokens that every target begins with and ends with.
struct TargetEnds {
  int32_t begin = 0;
  int32_t end = 0;
};

/// Pairs side by side: what the decoder is given, and what it is to say behind each token of it.
struct PairBatch {
  static constexpr int32_t filled_up = -1;

  PaddedTokens source;
  PaddedTokens inputs;  ///< begin, then the target, without a mask: what is filled up lies behind
  Tokens next;          ///< the target, then end; `filled_up` behind that
  int64_t tokens = 0;   ///< of `next` that count

  /// Pairs.
  int64_t count() const { return next.shape[0]; }
};

/// A batch of the pairs with these numbers, each sequence filled up to the longest on its side.
PairBatch make_batch(std::span<const TokenPair> pairs, std::span<const int64_t> members,
                     const TargetEnds& ends);

/// The rows begin … end-1 of a batch, filled up as they are in it.
PairBatch rows(const PairBatch& batch, int64_t begin, int64_t end);

/// The pairs by length, `batch_size` at a time: for scoring.
std::vector<std::vector<int64_t>> batches_by_length(std::span<const TokenPair> pairs,
                                                    int64_t batch_size);

/// Batches without end, each pair once an epoch. An epoch shuffles the pairs, sorts runs of
/// `batches_sorted_together` batches by length, cuts them, and shuffles the batches. Its order
/// depends on nothing but the seed and the epoch's number.
class PairBatches {
 public:
  static constexpr int64_t batches_sorted_together = 50;

  /// Throws when there is no pair, or the batch size is less than 1.
  PairBatches(std::span<const TokenPair> pairs, int64_t batch_size, uint64_t seed);

  /// The numbers of the next batch's pairs; the last batch of an epoch may be smaller.
  std::vector<int64_t> next();

  /// The place in the data: the batches that were given.
  int64_t epoch() const { return epoch_; }
  int64_t position() const { return position_; }
  /// Goes on from such a place. Throws when there is none.
  void go_to(int64_t epoch, int64_t position);

 private:
  void begin_epoch(int64_t epoch);

  std::span<const TokenPair> pairs_;
  int64_t batch_size_;
  uint64_t seed_;
  int64_t epoch_ = 0, position_ = 0;
  std::vector<std::vector<int64_t>> order_;
};

}  // namespace shiftgrad::SHIFTGRAD_PRECISION
